#include "cli/dead_letter.h"
#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ERROR_WIDTH 80

static enum tint tint_of(const struct dead_letter *d)
{
	return strcmp(d->state, "failed") == 0 ? TINT_BAD : TINT_WARN;
}

static const char *time_text(int64_t ms, char buf[CLOCK_RFC3339_SIZE])
{
	if (ms == DEAD_LETTER_NEVER)
		return "-";
	clock_rfc3339(ms, buf);
	return buf;
}

/* So much of a text as a table has room for, whole characters. */
static int fitting(const char *text)
{
	size_t len = strlen(text), n = len < ERROR_WIDTH ? len : ERROR_WIDTH;

	while (n > 0 && n < len && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

void dead_letters_print(const struct printer *p, const struct dead_letters *d)
{
	static const char *const names[] = {"STATE", "MESSAGE", "SUBJECT", "CONSUMER", "STARTS",
	    "BEHIND IT", "SINCE", "NEXT", "ERROR", NULL};
	struct table *t = table_new("llllrrlll");
	char since[CLOCK_RFC3339_SIZE], next[CLOCK_RFC3339_SIZE];

	for (const char *const *name = names; *name; name++)
		table_cell(t, TINT_HEAD, "%s", *name);
	for (size_t i = 0; i < d->n; i++) {
		const struct dead_letter *l = &d->letters[i];

		table_cell(t, tint_of(l), "%s", l->state);
		table_cell(t, TINT_PLAIN, "%s/%s", l->source, l->message_id);
		table_cell(t, TINT_PLAIN, "%s", l->subject);
		table_cell(t, TINT_PLAIN, "%s", l->consumer);
		table_cell(t, TINT_PLAIN, "%" PRId64, l->starts);
		table_cell(t, TINT_PLAIN, "%" PRId64, l->behind);
		table_cell(t, TINT_PLAIN, "%s", time_text(l->first_ms, since));
		table_cell(t, TINT_PLAIN, "%s", time_text(l->next_ms, next));
		table_cell(t, TINT_PLAIN, "%.*s", l->error ? fitting(l->error) : 0,
		    l->error ? l->error : "");
	}
	table_print(t, p, 0);
	table_free(t);
}

static void line(const struct printer *p, const char *name, const char *value)
{
	print_text(p, TINT_DIM, "  %-10s ", name);
	print_text(p, TINT_PLAIN, "%s", value);
	fputc('\n', p->out);
}

static const char *member(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return text ? text : "";
}

/* "2026-01-01T12:00:00.123Z  start 3  P0001: ..." or "...  retry by alice: why" */
static void print_history(const struct printer *p, const json_t *history)
{
	size_t i;
	json_t *entry;

	json_array_foreach (history, i, entry) {
		const json_t *start = json_object_get(entry, "start");

		print_text(p, TINT_DIM, "    %s  ", member(entry, "at"));
		if (start)
			print_text(p, TINT_PLAIN, "start %" JSON_INTEGER_FORMAT "  %s",
			    json_integer_value(start), member(entry, "error"));
		else
			print_text(p, TINT_PLAIN, "%s by %s  %s", member(entry, "marked"),
			    member(entry, "by"), member(entry, "reason"));
		fputc('\n', p->out);
	}
}

static void print_behind(const struct printer *p, const struct dead_letter *d, const json_t *behind)
{
	size_t i;
	json_t *entry;

	json_array_foreach (behind, i, entry) {
		print_text(p, TINT_PLAIN, "    %s/%s", member(entry, "source"),
		    member(entry, "message_id"));
		fputc('\n', p->out);
	}
	if ((int64_t)json_array_size(behind) < d->behind)
		fputs("    ...\n", p->out);
}

static void print_facts(const struct printer *p, const struct dead_letter *d)
{
	char first[CLOCK_RFC3339_SIZE], last[CLOCK_RFC3339_SIZE], next[CLOCK_RFC3339_SIZE];

	line(p, "consumer", d->consumer);
	line(p, "subject", d->subject);
	line(p, "entry", d->stream_id);
	line(p, "holder", d->holder ? d->holder : "nobody: it waits for a consumer");
	line(p, "since", time_text(d->first_ms, first));
	line(p, "last", time_text(d->last_ms, last));
	line(p, "next", time_text(d->next_ms, next));
	if (d->ahead)
		line(p, "waits for", d->ahead);
	if (d->error)
		line(p, "error", d->error);
	if (d->context)
		line(p, "context", d->context);
	if (d->remark)
		line(p, "remark", d->remark);
	if (d->event)
		line(p, "event", d->event);
}

void dead_letter_print(const struct printer *p, const struct dead_letter *d, const json_t *behind)
{
	print_text(p, TINT_HEAD, "%s/%s", d->source, d->message_id);
	print_text(p, tint_of(d), "  %s", d->state);
	print_text(p, TINT_PLAIN, ", started %" PRId64 " %s", d->starts,
	    print_plural(d->starts, "time", "times"));
	fputc('\n', p->out);
	print_facts(p, d);
	if (json_array_size(d->history) > 0) {
		line(p, "history", "");
		print_history(p, d->history);
	}
	if (d->behind > 0) {
		line(p, "behind it", "");
		print_behind(p, d, behind);
	}
}

static json_t *json_time(int64_t ms)
{
	char buf[CLOCK_RFC3339_SIZE];

	if (ms == DEAD_LETTER_NEVER)
		return json_null();
	clock_rfc3339(ms, buf);
	return json_string(buf);
}

/* As an object where it is one; else as the text that it is. */
static json_t *json_event(const char *event)
{
	json_t *json = event ? json_loads(event, JSON_DECODE_ANY, NULL) : NULL;

	return json ? json : print_json_text(event);
}

void dead_letter_print_json(FILE *out, const struct dead_letter *d, const json_t *behind)
{
	json_t *json = json_pack("{s:o, s:o, s:o, s:o, s:i, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o,"
				 " s:o, s:O, s:I, s:o, s:o}",
	    "consumer", print_json_text(d->consumer), "source", print_json_text(d->source),
	    "message_id", print_json_text(d->message_id), "subject", print_json_text(d->subject),
	    "shard", (int)d->shard, "stream_id", d->stream_id, "state", d->state, "starts",
	    (json_int_t)d->starts, "first_at", json_time(d->first_ms), "last_at",
	    json_time(d->last_ms), "next_at", json_time(d->next_ms), "error",
	    print_json_text(d->error), "context", print_json_text(d->context), "remark",
	    print_json_text(d->remark), "history", d->history, "behind", (json_int_t)d->behind,
	    "waits_for", print_json_text(d->ahead), "holder", print_json_text(d->holder));

	if (behind) {
		json_object_set(json, "held", (json_t *)behind);
		json_object_set_new(json, "event", json_event(d->event));
	}
	print_json(out, json);
}
