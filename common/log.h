/*
 * log.h - one line an event: logfmt, or JSON.
 *
 *   log_info("shard taken", lf_int("shard", 3), lf_str("holder", name));
 *   ts=2026-01-01T00:00:00.123Z level=info service=relay msg="shard taken" shard=3 holder=a
 *
 * error: somebody must act; warn: we coped; info: life cycle; debug: per event.  The message is a
 * constant; what varies is a field, under the same key everywhere.  Values from outside are escaped
 * (control bytes, quotes, invalid UTF-8).  Never a secret, never a body.  Lines are written to
 * stderr by one write(2) each, from any thread.
 */
#ifndef UMAVEZ_LOG_H
#define UMAVEZ_LOG_H

#include <stddef.h>
#include <stdint.h>

struct err;

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_LOGFMT, LOG_JSON };

struct log_field {
	const char *key; /* NULL ends the list */
	enum { LF_STR, LF_INT, LF_NUM } type;
	const char *str; /* NULL prints as an empty value */
	int64_t num;
	double real;
};

static inline struct log_field lf_str(const char *key, const char *value)
{
	return (struct log_field){key, LF_STR, value, 0, 0};
}
static inline struct log_field lf_int(const char *key, int64_t value)
{
	return (struct log_field){key, LF_INT, NULL, value, 0};
}
static inline struct log_field lf_num(const char *key, double value)
{
	return (struct log_field){key, LF_NUM, NULL, 0, value};
}
static inline struct log_field lf_end(void)
{
	return (struct log_field){NULL, LF_STR, NULL, 0, 0};
}
struct log_field lf_err(const struct err *err); /* error="..." */

/* Before any thread starts; service is borrowed for ever. */
void log_init(const char *service, enum log_level level, enum log_format format);
int log_enabled(enum log_level level);

/* fields ends with lf_end(). */
void log_write(enum log_level level, const char *msg, const struct log_field *fields);

#define LOG_AT(level, msg, ...) log_write(level, msg, (const struct log_field[]){__VA_ARGS__})
#define log_error(...) LOG_AT(LOG_ERROR, __VA_ARGS__, lf_end())
#define log_warn(...) LOG_AT(LOG_WARN, __VA_ARGS__, lf_end())
#define log_info(...) LOG_AT(LOG_INFO, __VA_ARGS__, lf_end())
#define log_debug(...)                                                                             \
	do {                                                                                       \
		if (log_enabled(LOG_DEBUG))                                                        \
			LOG_AT(LOG_DEBUG, __VA_ARGS__, lf_end());                                  \
	} while (0)

#endif
