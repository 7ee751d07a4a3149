/*
 * proxy_answers.h - just enough of the protocols of PostgreSQL and Redis to know, of the bytes of
 * one connection, which answers say that something was carried out.
 *
 * Bytes in, verdicts out; no I/O.  PostgreSQL without encryption:
 * https://www.postgresql.org/docs/15/protocol-message-formats.html
 */
#ifndef UMAVEZ_TESTS_PROXY_ANSWERS_H
#define UMAVEZ_TESTS_PROXY_ANSWERS_H

#include "tests/support/proxy.h"

struct answers;

struct answers *answers_new(enum proxy_protocol protocol);
void answers_free(struct answers *a);

/* What the client sends, in any pieces. Requests that the pattern names are wanted; NULL: none. */
void answers_request(struct answers *a, const char *bytes, size_t len, const char *pattern);

enum answer {
	ANSWER_OTHER, /* nothing that is wanted, or the end of an answer that says no */
	ANSWER_PART,  /* of a wanted one */
	ANSWER_DONE,  /* end of a wanted one: it was carried out */
};

/*
 * The first message of what the server sent: its length, or 0 if it is not whole yet.  What was
 * counted is not shown again; what was not is, with more behind it.
 */
size_t answers_reply(struct answers *a, const char *bytes, size_t len, enum answer *ret);

#endif
