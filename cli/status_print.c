#include "cli/status.h"

#include <inttypes.h>
#include <stdio.h>

/* The consumer that is furthest behind; NULL: there is none. */
static const struct consumer_status *find_slowest(const struct shard_status *s)
{
	const struct consumer_status *slowest = NULL;

	for (size_t i = 0; i < s->n_consumers; i++) {
		const struct consumer_status *c = &s->consumers[i];

		if (!slowest || c->lag_ms > slowest->lag_ms ||
		    (c->lag_ms == slowest->lag_ms && c->lag_entries > slowest->lag_entries))
			slowest = c;
	}
	return slowest;
}

static json_t *json_count(int64_t n)
{
	return n == BACKLOG_UNKNOWN ? json_null() : json_integer(n);
}

static json_t *json_seconds(int64_t ms)
{
	return ms == BACKLOG_UNKNOWN ? json_null() : json_real((double)ms / 1000);
}

static json_t *json_consumer(const struct consumer_status *c)
{
	char cursor[STREAM_ID_SIZE];

	return json_pack("{s:s, s:o, s:o, s:o}", "cursor", stream_id_format(c->cursor, cursor),
	    "holder", print_json_text(c->holder), "lag_entries", json_count(c->lag_entries),
	    "lag_seconds", json_seconds(c->lag_ms));
}

static json_t *json_shard(const struct shard_status *s)
{
	const struct consumer_status *slowest = find_slowest(s);
	json_t *consumers = json_object();

	for (size_t i = 0; i < s->n_consumers; i++)
		json_object_set_new(
		    consumers, s->consumers[i].name, json_consumer(&s->consumers[i]));
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "shard", (int)s->shard,
	    "unticked", json_count(s->unticked), "unpublished", json_count(s->unpublished),
	    "stream_length", json_count(s->stream_length), "lag_entries",
	    json_count(slowest ? slowest->lag_entries : BACKLOG_UNKNOWN), "lag_seconds",
	    json_seconds(slowest ? slowest->lag_ms : BACKLOG_UNKNOWN), "relay",
	    print_json_text(s->relay), "consumers", consumers);
}

void status_print_json(FILE *out, const struct status *s)
{
	json_t *shards = json_array();

	for (size_t i = 0; i < s->n_shards; i++)
		json_array_append_new(shards, json_shard(&s->shards[i]));
	json_t *json = json_pack("{s:o, s:I, s:I, s:I, s:I}", "shards", shards, "failed",
	    (json_int_t)s->failed, "retrying", (json_int_t)s->retrying, "held", (json_int_t)s->held,
	    "quarantined", (json_int_t)s->quarantined);
	print_json(out, json);
}

static void cell_count(struct table *t, int64_t n, enum tint tint)
{
	if (n == BACKLOG_UNKNOWN)
		table_cell(t, TINT_DIM, "?");
	else
		table_cell(t, n > 0 ? tint : TINT_PLAIN, "%" PRId64, n);
}

static void cell_lag(struct table *t, int64_t ms)
{
	if (ms == BACKLOG_UNKNOWN)
		table_cell(t, TINT_DIM, "?");
	else
		table_cell(t, ms > 0 ? TINT_WARN : TINT_PLAIN, "%.1f s", (double)ms / 1000);
}

static void cell_holder(struct table *t, const char *holder)
{
	if (holder)
		table_cell(t, TINT_PLAIN, "%s", holder);
	else
		table_cell(t, TINT_BAD, "nobody");
}

static void headings(struct table *t, const char *const *names)
{
	for (; *names; names++)
		table_cell(t, TINT_HEAD, "%s", *names);
}

static void print_shards(const struct printer *p, const struct status *s)
{
	static const char *const names[] = {
	    "SHARD", "UNTICKED", "UNPUBLISHED", "STREAM", "RELAY", NULL};
	struct table *t = table_new("rrrrl");

	headings(t, names);
	for (size_t i = 0; i < s->n_shards; i++) {
		const struct shard_status *shard = &s->shards[i];

		table_cell(t, TINT_PLAIN, "%u", shard->shard);
		cell_count(t, shard->unticked, TINT_WARN);
		cell_count(t, shard->unpublished, TINT_WARN);
		cell_count(t, shard->stream_length, TINT_PLAIN);
		cell_holder(t, shard->relay);
	}
	table_print(t, p, 0);
	table_free(t);
}

static void print_consumers(const struct printer *p, const struct status *s)
{
	static const char *const names[] = {
	    "SHARD", "CONSUMER", "LAG", "BEHIND", "CURSOR", "HOLDER", NULL};
	struct table *t = table_new("rlrrll");
	char cursor[STREAM_ID_SIZE];

	headings(t, names);
	for (size_t i = 0; i < s->n_shards; i++) {
		for (size_t k = 0; k < s->shards[i].n_consumers; k++) {
			const struct consumer_status *c = &s->shards[i].consumers[k];

			table_cell(t, TINT_PLAIN, "%u", s->shards[i].shard);
			table_cell(t, TINT_PLAIN, "%s", c->name);
			cell_count(t, c->lag_entries, TINT_WARN);
			cell_lag(t, c->lag_ms);
			table_cell(t, TINT_PLAIN, "%s", stream_id_format(c->cursor, cursor));
			cell_holder(t, c->holder);
		}
	}
	table_print(t, p, 0);
	table_free(t);
}

void status_print(const struct printer *p, const struct status *s)
{
	struct table *t = table_new("lr");

	print_shards(p, s);
	fputc('\n', p->out);
	print_consumers(p, s);
	fputc('\n', p->out);
	table_cell(t, TINT_HEAD, "failed");
	cell_count(t, s->failed, TINT_BAD);
	table_cell(t, TINT_HEAD, "retrying");
	cell_count(t, s->retrying, TINT_WARN);
	table_cell(t, TINT_HEAD, "held");
	cell_count(t, s->held, TINT_WARN);
	table_cell(t, TINT_HEAD, "quarantined");
	cell_count(t, s->quarantined, TINT_WARN);
	table_print(t, p, 0);
	table_free(t);
}
