#include "cli/trace.h"
#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>

static json_t *json_time(int64_t ms)
{
	char buf[CLOCK_RFC3339_SIZE];

	if (ms == TRACE_UNKNOWN)
		return json_null();
	clock_rfc3339(ms, buf);
	return json_string(buf);
}

static json_t *json_step(const struct trace_step *s)
{
	json_t *json = json_pack("{s:s, s:o, s:o, s:o}", "step", trace_step_name(s->kind), "at",
	    json_time(s->at_ms), "after_ms",
	    s->after_ms == TRACE_UNKNOWN ? json_null() : json_integer(s->after_ms), "by",
	    print_json_text(s->by));
	char id[STREAM_ID_SIZE];

	if (s->consumer)
		json_object_set_new(json, "consumer", print_json_text(s->consumer));
	if (s->stream_id.ms > 0)
		json_object_set_new(
		    json, "stream_id", json_string(stream_id_format(s->stream_id, id)));
	if (s->xid)
		json_object_set_new(json, "xid", json_string(s->xid));
	if (s->trimmed)
		json_object_set_new(json, "trimmed", json_true());
	if (s->reason)
		json_object_set_new(json, "reason", print_json_text(s->reason));
	if (s->starts > 0) {
		json_object_set_new(json, "starts", json_integer(s->starts));
		json_object_set_new(json, "error", print_json_text(s->error));
		json_object_set_new(json, "next_at", json_time(s->next_ms));
	}
	return json;
}

/* An emitted message has no store: its members say so, where a notification's name it. */
static json_t *json_name(const struct trace *t)
{
	if (t->is_emitted)
		return json_pack("{s:o, s:o, s:o}", "source", print_json_text(t->source),
		    "message_id", print_json_text(t->message_id), "type", print_json_text(t->type));
	return json_pack("{s:o, s:o}", "store", print_json_text(t->source), "notification_id",
	    print_json_text(t->message_id));
}

static json_t *json_consumers(const struct trace *t, const struct trace_verdict *v)
{
	json_t *json = json_object();

	for (size_t i = 0; i < t->n_consumers; i++)
		json_object_set_new(
		    json, t->consumers[i].name, json_string(trace_outcome_name(v->standings[i])));
	return json;
}

void trace_print_json(FILE *out, const struct trace *t, const struct trace_verdict *v)
{
	json_t *json = json_name(t), *steps = json_array();

	for (size_t i = 0; i < v->n_steps; i++)
		json_array_append_new(steps, json_step(&v->steps[i]));
	json_object_update_new(json,
	    json_pack("{s:o, s:O?, s:o, s:o, s:s, s:o}", "trace_id", print_json_text(t->trace_id),
		"purchase", t->purchase, "steps", steps, "consumers", json_consumers(t, v),
		"outcome", trace_outcome_name(v->outcome), "stuck", print_json_text(v->stuck)));
	print_json(out, json);
}

static void cell_time(struct table *table, int64_t ms)
{
	char buf[CLOCK_RFC3339_SIZE];

	if (ms == TRACE_UNKNOWN) {
		table_cell(table, TINT_DIM, "?");
		return;
	}
	clock_rfc3339(ms, buf);
	table_cell(table, TINT_PLAIN, "%s", buf);
}

static void cell_after(struct table *table, int64_t ms)
{
	if (ms == TRACE_UNKNOWN)
		table_cell(table, TINT_DIM, "%s", "");
	else if (ms < 1000)
		table_cell(table, TINT_DIM, "%+" PRId64 " ms", ms);
	else
		table_cell(table, ms < 10000 ? TINT_DIM : TINT_WARN, "%+.1f s", (double)ms / 1000);
}

/* What names the step: a position, a transaction, or who did it for which consumer, and why. */
static void cell_detail(struct table *table, const struct trace_step *s)
{
	const char *before = s->reason ? ": " : "", *reason = s->reason ? s->reason : "";
	char id[STREAM_ID_SIZE];

	if (s->consumer && s->xid)
		table_cell(
		    table, TINT_PLAIN, "%s, xid %s%s%s", s->consumer, s->xid, before, reason);
	else if (s->consumer)
		table_cell(table, TINT_PLAIN, "%s", s->consumer);
	else if (s->xid)
		table_cell(table, TINT_PLAIN, "xid %s", s->xid);
	else if (s->stream_id.ms > 0)
		table_cell(table, TINT_PLAIN, "%s", stream_id_format(s->stream_id, id));
	else
		table_cell(table, TINT_PLAIN, "%s", "");
}

static void cell_by(struct table *table, const struct trace_step *s)
{
	if (s->trimmed)
		table_cell(table, TINT_DIM, "%s", "trimmed from the stream since");
	else
		table_cell(table, TINT_DIM, "%s%s", s->by ? "by " : "", s->by ? s->by : "");
}

static const char *purchase_text(const struct trace *t, const char *name)
{
	const char *text = json_string_value(json_object_get(t->purchase, name));

	return text ? text : "-";
}

static void print_head(const struct printer *p, const struct trace *t)
{
	print_text(p, TINT_HEAD, "%s/%s", t->source, t->message_id);
	if (t->type || t->kind)
		print_text(p, TINT_PLAIN, "  %s", t->type ? t->type : t->kind);
	if (t->native_type)
		print_text(p, TINT_DIM, " (%s)", t->native_type);
	if (t->is_emitted)
		print_text(p, TINT_DIM, " (emitted by an application)");
	if (t->first_position)
		print_text(p, TINT_DIM, " (republished, first as %s)", t->first_position);
	fputc('\n', p->out);
	if (t->purchase)
		print_text(p, TINT_PLAIN, "purchase %s/%s: %s, %s, version %" JSON_INTEGER_FORMAT,
		    purchase_text(t, "store"), purchase_text(t, "store_purchase_id"),
		    purchase_text(t, "product_id"), purchase_text(t, "state"),
		    json_integer_value(json_object_get(t->purchase, "version")));
	if (t->purchase)
		fputc('\n', p->out);
	if (t->trace_id) {
		print_text(p, TINT_PLAIN, "trace %s", t->trace_id);
		fputc('\n', p->out);
	}
}

static const enum tint outcome_tints[] = {
    [OUTCOME_APPLIED] = TINT_GOOD,
    [OUTCOME_PENDING] = TINT_WARN,
    [OUTCOME_RETRYING] = TINT_WARN,
    [OUTCOME_HELD] = TINT_WARN,
    [OUTCOME_FAILED] = TINT_BAD,
    [OUTCOME_QUARANTINED] = TINT_BAD,
    [OUTCOME_UNPUBLISHED] = TINT_WARN,
    [OUTCOME_MISSED] = TINT_WARN,
    [OUTCOME_LOST] = TINT_BAD,
    [OUTCOME_DISCARDED] = TINT_WARN,
    [OUTCOME_FORGOTTEN] = TINT_PLAIN,
};

/* Of consumers that have no step of their own. */
static void print_others(struct table *table, const struct trace *t, const struct trace_verdict *v)
{
	for (size_t i = 0; i < t->n_consumers; i++) {
		const struct trace_consumer *c = &t->consumers[i];

		if (c->applied || c->parked)
			continue;
		table_cell(table, outcome_tints[v->standings[i]], "%s",
		    trace_outcome_name(v->standings[i]));
		table_cell(table, TINT_PLAIN, "%s", "");
		table_cell(table, TINT_PLAIN, "%s", "");
		table_cell(table, TINT_PLAIN, "%s", c->name);
		table_cell(table, TINT_PLAIN, "%s", "");
	}
}

static void print_end(const struct printer *p, const struct trace *t, const struct trace_verdict *v)
{
	print_text(p, outcome_tints[v->outcome], "%s", trace_outcome_name(v->outcome));
	if (v->stuck)
		print_text(p, TINT_PLAIN, ": %s", v->stuck);
	fputc('\n', p->out);
	if (t->stream_problem && v->outcome != OUTCOME_QUARANTINED) {
		print_text(p, TINT_DIM, "without Redis: %s", t->stream_problem);
		fputc('\n', p->out);
	}
}

void trace_print(const struct printer *p, const struct trace *t, const struct trace_verdict *v)
{
	struct table *table = table_new("llrll");

	print_head(p, t);
	for (size_t i = 0; i < v->n_steps; i++) {
		table_cell(table, TINT_PLAIN, "%s", trace_step_name(v->steps[i].kind));
		cell_time(table, v->steps[i].at_ms);
		cell_after(table, v->steps[i].after_ms);
		cell_detail(table, &v->steps[i]);
		cell_by(table, &v->steps[i]);
	}
	print_others(table, t, v);
	table_print(table, p, 2);
	table_free(table);
	print_end(p, t, v);
}
