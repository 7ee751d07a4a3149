/*
 * test_responder.h - an OCSP responder on a port of its own, in a thread, with moods.
 *
 * One connection at a time, closed after each answer.  Failures abort.
 */
#ifndef UMAVEZ_TESTS_TEST_RESPONDER_H
#define UMAVEZ_TESTS_TEST_RESPONDER_H

#include "tests/support/test_ca.h"

enum mood {
	ANSWERS_GOOD, /* for the next hour */
	ANSWERS_REVOKED,
	ANSWERS_UNKNOWN,
	ANSWERS_NONSENSE,
	SILENT, /* takes the request and holds the connection until the client gives up */
};

struct responder;

struct responder *responder_open(enum mood mood);
void responder_close(struct responder *r);

const char *responder_url(const struct responder *r); /* borrowed */

/* Whose certificates it answers for; borrowed. Before the first question. */
void responder_set_ca(struct responder *r, const struct test_ca *ca);
void responder_set_mood(struct responder *r, enum mood mood);
int responder_asked(struct responder *r); /* how often */

#endif
