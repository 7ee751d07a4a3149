/*
 * upkeep.h - what a service does from time to time beside its work: a thread of its own, and for
 * each round a PostgreSQL session of its own, so that nothing else waits for it.
 *
 * A round that fails is logged, and the next one comes when it is due.  A server whose sessions are
 * no good at all (pg_connect(): ERR_FATAL) ends the service, as it would from anywhere else.
 */
#ifndef UMAVEZ_UPKEEP_H
#define UMAVEZ_UPKEEP_H

#include "common/err.h"

#include <libpq-fe.h>
#include <stdint.h>

struct upkeep;

/* All borrowed until upkeep_stop(). */
struct upkeep_options {
	const char *what; /* for the log: "retention" */
	const char *database_url, *application_name;
	const char *schema; /* as for pg_check_schema() */
	int64_t interval_ms;
	int (*round)(void *ctx, PGconn *conn, struct err *err);
	void *ctx;
};

/* The first round is due at once.  ERR_FATAL: there is no thread to be had. */
int upkeep_start(
    const struct upkeep_options *options, struct upkeep **ret_upkeep, struct err *err) warn_unused;

/* Stops the service if nobody has, waits for the round under way, frees.  NULL is fine. */
void upkeep_stop(struct upkeep *u);

/*
 * Work in pieces of at most `at_most`, with as long a pause after each as it took.  piece gives how
 * much it did, or -1; less than at_most ends it, as does a stop.  *total is added to.
 */
int upkeep_pieces(int (*piece)(void *ctx, int64_t at_most, int64_t *ret_done, struct err *err),
    void *ctx, int64_t at_most, int64_t *total, struct err *err) warn_unused;

/* Partitions of the schema intake for the days ahead (schema/008): relay and producer both see to
 * them, so that inserts have theirs when only one of the two runs. */
int upkeep_partitions(PGconn *conn, struct err *err) warn_unused;

#endif
