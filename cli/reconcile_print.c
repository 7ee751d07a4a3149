#include "cli/reconcile.h"
#include "common/option.h"

#include <inttypes.h>
#include <stdlib.h>

const char *const fate_names[FATES] = {
    [FATE_APPLIED] = "applied",
    [FATE_RETRYING] = "retrying",
    [FATE_HELD] = "held",
    [FATE_FAILED] = "failed",
    [FATE_WAITING] = "waiting",
    [FATE_PURGED] = "purged",
    [FATE_UNRETAINED] = "unretained",
    [FATE_EARLY] = "early",
    [FATE_LOST] = "lost",
};

static const enum tint fate_tints[FATES] = {
    [FATE_RETRYING] = TINT_WARN,
    [FATE_HELD] = TINT_WARN,
    [FATE_FAILED] = TINT_BAD,
    [FATE_WAITING] = TINT_WARN,
    [FATE_LOST] = TINT_BAD,
};

void reconcile_print_json(FILE *out, const struct reconciliation *r)
{
	json_t *consumers = json_object();

	for (size_t i = 0; i < r->n_consumers; i++) {
		json_t *account = json_object();

		for (int fate = 0; fate < FATES; fate++)
			json_object_set_new(
			    account, fate_names[fate], json_integer(r->consumers[i].rows[fate]));
		json_object_set_new(consumers, r->consumers[i].name, account);
	}
	json_t *json = json_pack("{s:I, s:I, s:I, s:o, s:I, s:O, s:O, s:I, s:I}", "rows",
	    (json_int_t)r->rows, "republished", (json_int_t)r->again, "younger",
	    (json_int_t)r->younger, "consumers", consumers, "lost", (json_int_t)reconcile_lost(r),
	    "lost_messages", r->lost, "gaps", r->gaps, "ledger_entries", (json_int_t)r->entries,
	    "doubled", (json_int_t)r->doubled);
	print_json(out, json);
}

static void cell_count(struct table *t, int64_t n, enum tint tint)
{
	table_cell(t, n > 0 ? tint : TINT_PLAIN, "%" PRId64, n);
}

static void print_accounts(const struct printer *p, const struct reconciliation *r)
{
	struct table *t = table_new("lrrrrrrrrr");

	table_cell(t, TINT_HEAD, "CONSUMER");
	for (int fate = 0; fate < FATES; fate++)
		table_cell(t, TINT_HEAD, "%s", fate_names[fate]);
	for (size_t i = 0; i < r->n_consumers; i++) {
		table_cell(t, TINT_PLAIN, "%s", r->consumers[i].name);
		for (int fate = 0; fate < FATES; fate++)
			cell_count(t, r->consumers[i].rows[fate], fate_tints[fate]);
	}
	table_print(t, p, 0);
	table_free(t);
}

static bool is_met(const struct reconciliation *r, int fate)
{
	for (size_t i = 0; i < r->n_consumers; i++) {
		if (r->consumers[i].rows[fate] > 0)
			return true;
	}
	return false;
}

/* What the columns say that are not 0 somewhere. */
static void print_legend(const struct printer *p, const struct reconciliation *r)
{
	static const char *const meanings[FATES] = {
	    [FATE_RETRYING] = "its handler failed, and it will be tried again",
	    [FATE_HELD] = "waits behind a failed or retrying one of its subject",
	    [FATE_FAILED] = "a dead letter: see umavez dead-letter",
	    [FATE_WAITING] = "on its way: behind the consumer's cursor, or not published yet",
	    [FATE_PURGED] = "so old that its inbox row may have been purged: nobody can tell",
	    [FATE_UNRETAINED] = "its tick is retained no longer: nobody can tell",
	    [FATE_EARLY] = "written and trimmed before this consumer began",
	    [FATE_LOST] = "passed over: neither applied nor parked",
	};
	struct table *t = table_new("ll");

	for (int fate = 0; fate < FATES; fate++) {
		if (!meanings[fate] || !is_met(r, fate))
			continue;
		table_cell(t, TINT_DIM, "%s", fate_names[fate]);
		table_cell(t, TINT_DIM, "%s", meanings[fate]);
	}
	table_print(t, p, 2);
	table_free(t);
}

static const char *text(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value ? value : "";
}

static void print_lost(const struct printer *p, const struct reconciliation *r)
{
	struct table *t = table_new("lllrl");
	const json_t *row;
	size_t i;

	json_array_foreach (r->lost, i, row) {
		table_cell(t, TINT_BAD, "lost");
		table_cell(t, TINT_PLAIN, "%s", text(row, "consumer"));
		table_cell(t, TINT_PLAIN, "%s/%s", text(row, "source"), text(row, "message_id"));
		table_cell(t, TINT_DIM, "shard %" JSON_INTEGER_FORMAT,
		    json_integer_value(json_object_get(row, "shard")));
		table_cell(t, TINT_DIM, "%s", text(row, "created_at"));
	}
	table_print(t, p, 0);
	table_free(t);
	int64_t more = reconcile_lost(r) - (int64_t)json_array_size(r->lost);
	if (more > 0)
		fprintf(p->out, "and %" PRId64 " more (--list)\n", more);
}

static void print_gaps(const struct printer *p, const struct reconciliation *r)
{
	const json_t *gap;
	size_t i;

	json_array_foreach (r->gaps, i, gap) {
		print_text(p, TINT_BAD, "gap");
		print_text(p, TINT_PLAIN,
		    "  shard %" JSON_INTEGER_FORMAT
		    ": the stream had ended at %s and went on behind tick %" JSON_INTEGER_FORMAT
		    ", the oldest retained, at %s",
		    json_integer_value(json_object_get(gap, "shard")), text(gap, "after"),
		    json_integer_value(json_object_get(gap, "oldest_tick")), text(gap, "at"));
		fputc('\n', p->out);
	}
}

static void print_head(const struct printer *p, const struct reconciliation *r)
{
	char *age = option_duration_text(r->older_than_ms);

	fprintf(p->out, "%" PRId64 " outbox %s", r->rows, print_plural(r->rows, "row", "rows"));
	if (r->again > 0)
		fprintf(p->out, ", %" PRId64 " of them republished", r->again);
	if (r->younger > 0)
		fprintf(p->out, " (%" PRId64 " younger than %s left out: see --older-than)",
		    r->younger, age);
	fprintf(p->out, ", %" PRId64 " ledger %s\n\n", r->entries,
	    print_plural(r->entries, "entry", "entries"));
	free(age);
}

void reconcile_print(const struct printer *p, const struct reconciliation *r)
{
	print_head(p, r);
	if (r->n_consumers == 0)
		fprintf(p->out, "no consumer has a cursor yet: nobody should have applied them\n");
	else
		print_accounts(p, r);
	print_legend(p, r);
	print_lost(p, r);
	print_gaps(p, r);
	if (r->doubled > 0) {
		print_text(p, TINT_BAD, "doubled");
		fprintf(p->out,
		    "  %" PRId64 " ledger %s not written by the transaction that applied "
		    "their message\n",
		    r->doubled, print_plural(r->doubled, "entry was", "entries were"));
	}
}
