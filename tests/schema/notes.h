/*
 * notes.h - notifications for intake.receive(), as the producer would send them.
 */
#ifndef UMAVEZ_TESTS_SCHEMA_NOTES_H
#define UMAVEZ_TESTS_SCHEMA_NOTES_H

#include "tests/support/check.h"
#include "tests/support/world.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Absent: NULL, 0, or will_renew "". */
struct note {
	const char *store, *id, *kind, *purchase;
	int rank;
	int at_s; /* occurred_at, seconds into 2026 */
	const char *product, *account, *state, *transaction;
	bool current_only;
	const char *will_renew; /* "yes", "no" */
	const char *traceparent, *remark;
	int expires_s;
	long amount;
};

/* The one value of a query. */
#define CHECK_TEXT(world, sql, want)                                                               \
	do {                                                                                       \
		char *text_ = world_text(world, "%s", sql);                                        \
		CHECK_STR(text_, want);                                                            \
		free(text_);                                                                       \
	} while (0)

/* The start of 2026, in ms since 1970. */
#define NOTES_EPOCH_MS INT64_C(1767225600000)

/* One call, one transaction. accepted, n of them, may be NULL. Any thread; an SQL error ends the
 * program. */
void notes_receive(PGconn *conn, const struct note *notes, size_t n, bool *ret_accepted);

/* The same, to be refused: the SQLSTATE ("" if it was not), until the next call of this thread. */
const char *notes_refused(PGconn *conn, const struct note *notes, size_t n);

#endif
