#include "common/log.h"

#include "common/clock.h"
#include "common/err.h"
#include "common/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One write(2) of at most PIPE_BUF bytes is not torn apart by other writers of a pipe. */
enum { LINE_MAX_BYTES = 4096, TAIL_BYTES = 32, VALUE_MAX_BYTES = 1024 };

struct line {
	char bytes[LINE_MAX_BYTES];
	size_t len;
	bool full; /* something did not fit and was left out */
};

static const char *log_service = "umavez";
static enum log_level log_threshold = LOG_INFO;
static enum log_format log_shape = LOG_LOGFMT;

void log_init(const char *service, enum log_level level, enum log_format format)
{
	log_service = service;
	log_threshold = level;
	log_shape = format;
}

int log_enabled(enum log_level level)
{
	return level <= log_threshold;
}

struct log_field lf_err(const struct err *err)
{
	return lf_str("error", err->message);
}

static void put(struct line *line, const char *s, size_t len)
{
	if (line->full || len > LINE_MAX_BYTES - TAIL_BYTES - line->len) {
		line->full = true;
		return;
	}
	memcpy(line->bytes + line->len, s, len);
	line->len += len;
}

static void put_str(struct line *line, const char *s)
{
	put(line, s, strlen(s));
}

static void put_escape(struct line *line, uint32_t code)
{
	char buf[8];

	switch (code) {
	case '\n':
		put_str(line, "\\n");
		break;
	case '\r':
		put_str(line, "\\r");
		break;
	case '\t':
		put_str(line, "\\t");
		break;
	default:
		put(line, buf, (size_t)snprintf(buf, sizeof(buf), "\\u%04x", (unsigned)code));
	}
}

/* A JSON string, which logfmt readers take too. What is not UTF-8 becomes U+FFFD. */
static void put_quoted(struct line *line, const char *s)
{
	size_t len = strnlen(s, VALUE_MAX_BYTES);
	bool cut = s[len] != '\0';

	put(line, "\"", 1);
	while (len > 0) {
		uint32_t code;
		size_t n = utf8_decode(s, len, &code);
		if (n == 0) {
			put_escape(line, 0xfffd);
			n = 1;
		} else if (code == '"' || code == '\\') {
			put(line, "\\", 1);
			put(line, s, 1);
		} else if (!utf8_printable(code)) {
			put_escape(line, code);
		} else {
			put(line, s, n);
		}
		s += n;
		len -= n;
	}
	put_str(line, cut ? "...\"" : "\"");
}

/* Readable without quotes in logfmt: no space, quote, '=' or anything else that could mislead. */
static bool bare(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++) {
		if (s[n] <= ' ' || s[n] > '~' || strchr("\"'=\\", s[n]))
			return false;
	}
	return n > 0 && n <= VALUE_MAX_BYTES;
}

static void put_value(struct line *line, const char *s)
{
	if (log_shape == LOG_JSON)
		put_quoted(line, s ? s : "");
	else if (!s)
		return;
	else if (bare(s))
		put_str(line, s);
	else
		put_quoted(line, s);
}

static void put_number(struct line *line, double value)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%.9g", value);
	if (isfinite(value))
		put_str(line, buf);
	else
		put_value(line, buf); /* JSON has no NaN and no infinity */
}

static void put_key(struct line *line, const char *key)
{
	if (line->len > (log_shape == LOG_JSON ? 1 : 0))
		put(line, log_shape == LOG_JSON ? "," : " ", 1);
	if (log_shape == LOG_JSON) {
		put_quoted(line, key);
		put(line, ":", 1);
	} else {
		put_str(line, key);
		put(line, "=", 1);
	}
}

static void put_field(struct line *line, const struct log_field *field)
{
	size_t before = line->len;
	char buf[24];

	put_key(line, field->key);
	switch (field->type) {
	case LF_STR:
		put_value(line, field->str);
		break;
	case LF_INT:
		snprintf(buf, sizeof(buf), "%" PRId64, field->num);
		put_str(line, buf);
		break;
	case LF_NUM:
		put_number(line, field->real);
		break;
	}
	if (line->full)
		line->len = before;
}

/* put() has kept TAIL_BYTES free for this. */
static void put_tail(struct line *line)
{
	bool json = log_shape == LOG_JSON;
	const char *mark = json ? ",\"truncated\":true" : " truncated=true";
	int n = snprintf(
	    line->bytes + line->len, TAIL_BYTES, "%s%s\n", line->full ? mark : "", json ? "}" : "");

	line->len += (size_t)n;
}

static const char *level_name(enum log_level level)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};

	assert(level <= LOG_DEBUG);
	return names[level];
}

void log_write(enum log_level level, const char *msg, const struct log_field *fields)
{
	struct line line = {.len = 0};
	char now[CLOCK_RFC3339_SIZE];

	if (!log_enabled(level))
		return;
	clock_rfc3339(clock_wall_ms(), now);
	const struct log_field head[] = {lf_str("ts", now), lf_str("level", level_name(level)),
	    lf_str("service", log_service), lf_str("msg", msg), lf_end()};

	if (log_shape == LOG_JSON)
		put(&line, "{", 1);
	for (const struct log_field *f = head; f->key; f++)
		put_field(&line, f);
	for (const struct log_field *f = fields; f->key; f++)
		put_field(&line, f);
	put_tail(&line);
	/* There is nobody to tell when stderr is gone. */
	ssize_t n = write(STDERR_FILENO, line.bytes, line.len);
	(void)n;
}
