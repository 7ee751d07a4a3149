/*
 * doctor.h - what is right and what is not, with what to change: a list that each check adds to.
 */
#ifndef UMAVEZ_CLI_DOCTOR_H
#define UMAVEZ_CLI_DOCTOR_H

#include "cli/print.h"
#include "common/err.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum level { LEVEL_OK, LEVEL_WARN, LEVEL_FAIL, LEVELS };
extern const char *const level_names[LEVELS];

struct finding {
	enum level level;
	char *where;  /* the heading that it stands under */
	char *name;   /* which check */
	char *what;   /* what was found */
	char *advice; /* what to change; of no interest when it is ok */
};

struct doctor {
	size_t n;
	struct finding *list;
	char *where;         /* of what is noted next; NULL: nothing yet */
	PGresult *shards;    /* shards.sql, a row each; NULL: not known */
	PGresult *consumers; /* doctor_consumers.sql; NULL: not known */
};

/* What follows is about this: a database and a role, for example. */
void doctor_turn_to(struct doctor *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Everything is copied. */
void doctor_note(struct doctor *d, enum level level, const char *name, const char *advice,
    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* A statement failed. */
void doctor_note_error(struct doctor *d, const char *name, const struct err *err);
void doctor_done(struct doctor *d);
size_t doctor_count(const struct doctor *d, enum level level);

/* A clock against this host's: what it said, between two looks at ours; all in ms since 1970. */
void doctor_clock(
    struct doctor *d, const char *whose, int64_t before, int64_t theirs, int64_t after);

/*
 * One of the two schemas, "intake" or "effects"; with what concerns its server and its role, unless
 * they were looked at for the other one.  The connection is the caller's, to be finished;
 * NULL: there is none, and that has been noted.
 */
PGconn *doctor_database(
    struct doctor *d, const char *url, const char *schema, bool is_known_server);

/* What concerns both: the deployment in intake. effects may be NULL. */
void doctor_deployment(struct doctor *d, PGconn *intake, PGconn *effects);

/* Who is at work: relays, consumers, and the groups that trimming waits for. effects may be NULL.
 */
void doctor_work(struct doctor *d, PGconn *intake, PGconn *effects);

/*
 * Once doctor_work() has found who holds what: whether a relay holds the shard where the oldest of
 * these rows, written at oldest_ms, has waited too long, which is noted; lack says for what.
 */
bool doctor_relay_stuck(
    struct doctor *d, unsigned shard, int64_t rows, int64_t oldest_ms, const char *lack);

/* What to do about a group that does not get on in this shard; of one that is missing there, nobody
 * reads it.  Once doctor_work() has told consumers from others'.  malloc'd. */
char *doctor_reader_advice(const struct doctor *d, const char *group, unsigned shard);

/* Redis, the streams in it and their groups. intake NULL: without the streams. */
void doctor_redis(struct doctor *d, const char *url, const char *name_space, PGconn *intake);

void doctor_print_json(FILE *out, const struct doctor *d);
void doctor_print(const struct printer *p, const struct doctor *d);

#endif
