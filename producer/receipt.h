/*
 * receipt.h - one request's life, from its last byte to its answer.
 *
 *	         (gate.h reads)
 *	               │
 *	               ▼      key or revocation
 *	 ┌──────── VERIFYING ──being fetched──▶ LATER
 *	 │             │  ▲                       │ │
 *	 │   authentic │  └─────── 50 ms ─────────┘ │
 *	 │             ▼                            │
 *	 │refused   QUEUED ──its turn, in a batch──▶│fate known──┐
 *	 │             │ full, away, deadline       │deadline    │
 *	 └─────────────┴────────────────────────────┴──▶ DONE ◀──┘
 *
 * Being answered is a matter of its own: a client may vanish, and the deadline may pass while the
 *batch is under way.  Then nobody waits any more (req is NULL), the receipt stays until the batch
 *is done, and what is committed stays committed: the sender's retry is a duplicate.
 */
#ifndef UMAVEZ_RECEIPT_H
#define UMAVEZ_RECEIPT_H

#include "common/gate.h"
#include "producer/intake.h"
#include "producer/route.h"

#include <stdbool.h>
#include <stdint.h>

struct receipts; /* all of one event loop */

struct receipts_options {
	struct event_base *base;
	struct gate *gate;
	struct intake *intake;
	struct meter *meter;
	struct refused *refused;
	const struct routes *routes;
	int64_t max_body;
	bool trust_traceparent;
};

/* Everything is borrowed. */
struct receipts *receipts_new(const struct receipts_options *options);

/* After the intake is freed, which settles what is under way. NULL is fine. */
void receipts_free(struct receipts *all);

/* The callback for evhttp_set_gencb(): arg is the receipts. */
void receipts_serve(struct evhttp_request *req, void *arg);

/* How many requests have no answer yet. */
unsigned receipts_waiting(const struct receipts *all);

/* From now on, answers close their connections. */
void receipts_drain(struct receipts *all);

/* Answer 503 to everybody who waits: the time for draining is over. */
void receipts_abandon(struct receipts *all);

#endif
