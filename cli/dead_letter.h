/*
 * dead_letter.h - parked messages as `umavez dead-letter` reads, prints and marks them.
 *
 * Nothing is moved here: the owner of a message's shard does what its mark says.
 */
#ifndef UMAVEZ_CLI_DEAD_LETTER_H
#define UMAVEZ_CLI_DEAD_LETTER_H

#include "cli/print.h"
#include "common/err.h"

#include <jansson.h>
#include <libpq-fe.h>
#include <stddef.h>
#include <stdint.h>

#define DEAD_LETTER_NEVER INT64_MIN

struct dead_letter {
	char *consumer, *source, *message_id, *subject, *stream_id, *state;
	unsigned shard;
	int64_t starts;
	int64_t first_ms, last_ms; /* parked, and last touched; ms since 1970, as all times here */
	int64_t next_ms;           /* when its owner turns to it; DEAD_LETTER_NEVER */
	char *error, *remark;      /* NULL: none */
	char *context;             /* DETAIL, HINT and CONTEXT of the error; NULL: none */
	json_t *history;
	char *event;    /* NULL unless it was asked for by its id */
	int64_t behind; /* how many messages of its subject wait behind it */
	char *ahead;    /* what it is held behind, source/id; NULL: it is not held */
	char *holder;   /* who works on its shard; NULL: nobody */
};

struct dead_letters {
	size_t n;
	struct dead_letter *letters;
};

/* NULL: any; state NULL: all but held, unless an id is given.  id may have its source in front. */
struct dead_letter_filter {
	const char *consumer, *state, *source, *subject, *id;
	int64_t limit;
};

/* Free with dead_letters_done().  By consumer, in the order of their streams. */
int dead_letters_read(PGconn *effects, const struct dead_letter_filter *filter,
    struct dead_letters *ret_letters, struct err *err) warn_unused;
void dead_letters_done(struct dead_letters *d);

/* What waits behind one, in order: [{"source","message_id","state"}], at most limit; the caller's.
 */
int dead_letter_behind(PGconn *effects, const struct dead_letter *d, int64_t limit,
    json_t **ret_behind, struct err *err) warn_unused;

/* as: "retry" or "discard"; why may be NULL.  ERR_FATAL: its state does not allow that now. */
int dead_letter_mark(PGconn *effects, const struct dead_letter *d, const char *as, const char *why,
    struct err *err) warn_unused;

void dead_letters_print(const struct printer *p, const struct dead_letters *d);
void dead_letter_print(const struct printer *p, const struct dead_letter *d, const json_t *behind);

/* behind NULL: without event and what is behind it. */
void dead_letter_print_json(FILE *out, const struct dead_letter *d, const json_t *behind);

#endif
