/*
 * err.h - why something failed, and what the caller should do about it.
 *
 * A fallible function returns 0, or -1 with a struct err filled in (untouched on success).  The
 * kind names the caller's reaction, not the cause.  Wrap on the way up, log once in the main loop.
 */
#ifndef UMAVEZ_ERR_H
#define UMAVEZ_ERR_H

#include <stddef.h>

enum err_kind {
	ERR_NONE = 0,
	ERR_RETRY,    /* connection, timeout, deadlock: the same may succeed later */
	ERR_REJECT,   /* this input never succeeds; others do */
	ERR_FATAL,    /* this process never succeeds: exit 1 */
	ERR_USAGE,    /* the command line or the configuration is wrong: exit 2 */
	ERR_MISMATCH, /* wrong schema or cluster for this process: exit 3 */
};

struct err {
	enum err_kind kind;
	char sqlstate[6];  /* "" unless PostgreSQL reported it */
	char message[500]; /* one line, without secrets */
	char context[400]; /* one line: what PostgreSQL says besides; may be cut anywhere */
};

#define ERR_INIT                                                                                   \
	{                                                                                          \
		ERR_NONE, "", "", ""                                                               \
	}

#define warn_unused __attribute__((warn_unused_result))

/* Fill in *err.  Always returns -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "context: " in front of the message, keeping the kind.  Always returns -1. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Append "label: text" to the context, text up to len; what does not fit is cut. */
void err_add_context(struct err *err, const char *label, const char *text, size_t len);

const char *err_kind_name(enum err_kind kind);

/* Of a program: 1 failed, 2 usage or configuration, 3 schema or cluster mismatch. */
int err_exit_status(const struct err *err);

#endif
