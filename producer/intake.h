/*
 * intake.h - group commit: what an event loop has received goes into the database together.
 *
 * Whenever one of the loop's connections is free and something is queued, everything that is queued
 * goes (batch.h), in one call of intake.receive: one round trip, one transaction, one fsync.  There
 * is no timer: an idle system has batches of one.
 */
#ifndef UMAVEZ_INTAKE_H
#define UMAVEZ_INTAKE_H

#include "common/err.h"
#include "producer/batch.h"
#include "producer/receive.h"

#include <event2/event.h>
#include <stdatomic.h>
#include <stdbool.h>

struct intake;
struct meter;
struct wake;

/* What the loops of a process share. */
struct intake_shared {
	atomic_long queued;
	long max_queued;
	atomic_int up;    /* connections of all loops */
	atomic_bool lost; /* the log says that the database is away */
	int lanes;        /* connections of all loops, up or not */
	/* Batches that the database has answered but not committed, for no fault of theirs, since
	 * one was committed; and when. */
	atomic_int failures;
	_Atomic int64_t failed_us;
	struct meter *meter;
	struct wake *wake; /* rung after each commit that accepted something */
};

struct intake_options {
	struct event_base *base;
	struct intake_shared *shared;
	const char *database_url, *application_name; /* borrowed, like shared */
	unsigned connections;
	size_t batch;
	int64_t statement_ms, lock_ms; /* as session.h has them */
};

enum intake_outcome {
	INTAKE_ACCEPTED,
	INTAKE_DUPLICATE,
	INTAKE_REFUSED,    /* by the database, for its data: nothing is stored */
	INTAKE_UNSTORABLE, /* the same, and no later attempt can do better */
	INTAKE_UNAVAILABLE /* not stored, or unknown: the store's retry will tell */
};

/* One notification to be kept; embedded in what waits for it. All strings are borrowed until
 * done(). */
struct intake_item {
	const struct notification *notification;
	struct receive_extra extra;
	void (*done)(struct intake_item *item, enum intake_outcome outcome);
	struct batch_item batch; /* the rest is intake.c's */
	bool queued;
};

struct intake *intake_new(const struct intake_options *options);
void intake_free(struct intake *i); /* nothing may be submitted any more; NULL is fine */

/* Has it a connection? Any thread. */
bool intake_is_up(const struct intake *i);

/*
 * False for a while after as many batches in a row have failed as there are connections: the
 * database is there, and full or forbidden.  Then true again until the next one fails, since only a
 * notification can tell that it is over.
 */
bool intake_commits(const struct intake_shared *shared, int64_t now_us);

/* done() is called once, later. ERR_RETRY: the queue is full or the database away; no done(). */
int intake_submit(struct intake *i, struct intake_item *item, struct err *err) warn_unused;

/* Take it back: true, and no done(), if it is not under way yet. */
bool intake_withdraw(struct intake *i, struct intake_item *item);

#endif
