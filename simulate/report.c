#include "simulate/report.h"

#include "cli/print.h"
#include "simulate/outside.h"
#include "tests/support/die.h"

#include <inttypes.h>
#include <stdlib.h>

#define EXAMPLES "10"

/* Rows of (source, message_id, effects). */
static json_t *read_messages(struct stack *s, const char *sql)
{
	PGconn *conn = world_pg(s->world);
	PGresult *res = PQexec(conn, sql);
	json_t *list = json_array();

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		die("%s\nin: %s", PQerrorMessage(conn), sql);
	for (int i = 0; i < PQntuples(res); i++)
		json_array_append_new(list,
		    json_pack("{s:o, s:o, s:I}", "source", print_json_text(PQgetvalue(res, i, 0)),
			"message_id", print_json_text(PQgetvalue(res, i, 1)), "effects",
			(json_int_t)strtoll(PQgetvalue(res, i, 2), NULL, 10)));
	PQclear(res);
	PQfinish(conn);
	return list;
}

/* What a handler wrote through a connection of its own it wrote at every call. */
static enum count count_effects(struct stack *s, const struct config *config, bool finished)
{
	if (config->effect_query)
		return COUNT_QUERY;
	if (!config->handler || !finished)
		return COUNT_COMMITTED;
	stack_stop(s);
	if (!outside_writes(s->world, s->function))
		return COUNT_COMMITTED;
	outside_count(s->world);
	return COUNT_CALLS;
}

static int64_t count_dead(const struct report *r)
{
	return r->dead.failed + r->dead.held;
}

void report_read(struct stack *s, const struct config *config, const struct load *load,
    struct report *ret_report)
{
	struct report *r = ret_report;
	unsigned which = INVARIANTS_ALL | INVARIANTS_TRIMMED;

	r->own = config->handler != NULL;
	if (r->own)
		which |= INVARIANTS_HANDLER;
	r->count = count_effects(s, config, r->finished);
	r->crashes = s->crashes;
	ledger_read(s->world, load, &r->ledger);
	r->ledger.lost = world_int(s->world, "SELECT count(*) FROM witness.lost");
	dead_letters_read(s->world, &r->dead);
	r->calls = stack_calls(s);
	/* What is not applied is told as lost or given up; every other view would tell it again. */
	r->broken = r->finished && count_dead(r) == 0 ? invariants_broken(s->world, which) : 0;
	r->lost = read_messages(
	    s, "SELECT source, message_id, 0 FROM witness.lost ORDER BY 1, 2 LIMIT " EXAMPLES);
	r->doubled = read_messages(s, "SELECT source, message_id, effects FROM witness.counted() "
				      "WHERE effects > 1 ORDER BY 3 DESC, 1, 2 LIMIT " EXAMPLES);
}

void report_done(struct report *r)
{
	dead_letters_done(&r->dead);
	json_decref(r->lost);
	json_decref(r->doubled);
}

bool report_is_good(const struct report *r, const struct stack *s)
{
	const struct ledger *l = &r->ledger;

	return r->finished && l->lost == 0 && l->doubled == 0 && l->out_of_order == 0 &&
	       l->load.refused == 0 && count_dead(r) == 0 && r->broken == 0 &&
	       stack_pending(s) == NULL;
}

static void add_line(struct table *t, const struct ledger_line *line)
{
	enum tint tint = line->must_be_zero ? TINT_GOOD : TINT_PLAIN;

	if (line->must_be_zero && line->value != 0)
		tint = TINT_BAD;
	table_cell(t, TINT_PLAIN, "%s", line->name);
	table_cell(t, tint, "%" PRId64, line->value);
	table_cell(t, TINT_DIM, "%s", line->meaning);
}

static void print_ledger(const struct printer *p, const struct report *r)
{
	const struct ledger_line more[] = {
	    {"dead letters", count_dead(r), "failed for good, or held behind one that did", true},
	    {"broken", r->broken, "other promises that do not hold", true},
	    {"crashes", r->crashes, "", false},
	    {"handler calls", r->calls, "those that a crash rolled back included", false},
	};
	struct ledger_line lines[LEDGER_LINES];
	struct table *table = table_new("lrl");

	ledger_lines(&r->ledger, lines);
	for (size_t i = 0; i < LEDGER_LINES; i++)
		add_line(table, &lines[i]);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		add_line(table, &more[i]);
	table_print(table, p, 2);
	table_free(table);
}

static void print_messages(const struct printer *p, const char *what, const json_t *list, int64_t n)
{
	const json_t *one;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	putchar('\n');
	print_text(p, TINT_HEAD, "%s", what);
	putchar('\n');
	json_array_foreach (list, i, one) {
		fputs("  ", stdout);
		print_text(p, TINT_PLAIN, "%s %s: %" PRId64 " effects",
		    json_string_value(json_object_get(one, "source")),
		    json_string_value(json_object_get(one, "message_id")),
		    (int64_t)json_integer_value(json_object_get(one, "effects")));
		putchar('\n');
	}
	if (n > (int64_t)json_array_size(list))
		puts("  ...");
}

static void print_error(const struct printer *p, const struct dead_letters *dead)
{
	if (dead->error == NULL)
		return;
	putchar('\n');
	print_text(p, TINT_HEAD, "The first error (%" PRId64 " %s it)", dead->same_errors,
	    dead->same_errors == 1 ? "message has" : "messages have");
	fputs("\n  ", stdout);
	print_text(p, TINT_BAD, "%s", dead->error);
	putchar('\n');
}

/* What the numbers mean for the user's own handler. */
static void print_count(const struct printer *p, const struct report *r)
{
	int64_t again = r->calls - r->ledger.effects;

	if (r->count == COUNT_CALLS)
		print_text(p, TINT_BAD,
		    "The handler writes what no rollback undoes: every call of it was an effect.");
	else if (r->count == COUNT_COMMITTED && r->own && again > 0)
		print_text(p, TINT_WARN,
		    "%" PRId64 " calls of the handler were rolled back, and left nothing on this "
		    "server.  What they did on others was done again: --effect-query counts that.",
		    again);
	else
		return;
	putchar('\n');
}

/* Where the columns seem to miss some. */
static void print_kept_unsaid(const struct printer *p, const struct load_totals *load)
{
	int64_t unsaid = load->notifications - load->accepted;

	if (unsaid <= 0)
		return;
	print_text(p, TINT_DIM,
	    "%" PRId64 " were kept by a producer that was killed before it could say so: the store"
	    " sent them again, and they were duplicates.",
	    unsaid);
	putchar('\n');
}

static void print_left_undone(
    const struct printer *p, const struct report *r, const struct stack *s)
{
	for (size_t i = 0; i < s->plan->n_crashes; i++) {
		if (!stack_is_pending(s, i))
			continue;
		print_text(p, TINT_BAD, "Crash point not reached: %s", s->plan->crashes[i].point);
		putchar('\n');
	}
	if (r->finished)
		return;
	print_text(p, TINT_BAD, "Not finished in time: what is not applied counts as lost.");
	putchar('\n');
}

void report_print(const struct report *r, const struct stack *s)
{
	struct printer p;

	printer_init(&p, stdout);
	print_ledger(&p, r);
	print_error(&p, &r->dead);
	print_messages(&p, "Lost", r->lost, r->ledger.lost);
	print_messages(&p, "Doubled", r->doubled, r->ledger.doubled);
	putchar('\n');
	if (r->finished)
		print_kept_unsaid(&p, &r->ledger.load);
	print_count(&p, r);
	print_left_undone(&p, r, s);
	if (report_is_good(r, s))
		print_text(&p, TINT_GOOD, "Nothing lost, nothing doubled.");
	else
		print_text(&p, TINT_BAD, "The simulation failed.");
	printf(" (--seed %" PRIu64 ")\n", r->seed);
}

static json_t *kills_json(const struct plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->n_kills; i++)
		json_array_append_new(
		    list, json_pack("{s:s, s:f}", "service", service_word(plan->kills[i].service),
			      "at", plan->kills[i].part));
	return list;
}

static json_t *not_reached_json(const struct stack *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->plan->n_crashes; i++)
		if (stack_is_pending(s, i))
			json_array_append_new(list, json_string(s->plan->crashes[i].point));
	return list;
}

void report_print_json(const struct report *r, const struct stack *s)
{
	static const char *const counted[] = {
	    [COUNT_COMMITTED] = "committed", [COUNT_CALLS] = "calls", [COUNT_QUERY] = "query"};
	const struct ledger *l = &r->ledger;
	const struct {
		const char *name;
		int64_t value;
	} numbers[] = {{"seed", (int64_t)r->seed}, {"notifications", l->load.notifications},
	    {"sent", l->load.sends}, {"accepted", l->load.accepted},
	    {"duplicates", l->load.duplicates}, {"unanswered", l->load.unanswered},
	    {"refused", l->load.refused}, {"crashes", r->crashes},
	    {"stream_entries", l->stream_entries}, {"calls", r->calls}, {"effects", l->effects},
	    {"lost", l->lost}, {"doubled", l->doubled}, {"out_of_order", l->out_of_order},
	    {"failed", r->dead.failed}, {"held", r->dead.held}, {"broken", r->broken}};
	json_t *json = json_pack("{s:b}", "ok", report_is_good(r, s));

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_object_set_new(json, numbers[i].name, json_integer(numbers[i].value));
	if (r->dead.error != NULL)
		json_object_set_new(json, "error", print_json_text(r->dead.error));
	json_object_set_new(json, "counted", json_string(counted[r->count]));
	json_object_set_new(json, "finished", json_boolean(r->finished));
	json_object_set_new(json, "kills", kills_json(s->plan));
	json_object_set_new(json, "not_reached", not_reached_json(s));
	json_object_set(json, "lost_messages", r->lost);
	json_object_set(json, "doubled_messages", r->doubled);
	print_json(stdout, json);
}
