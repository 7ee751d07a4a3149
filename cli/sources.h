/*
 * sources.h - where the answers come from: the two schemas, and Redis if it can be reached.
 */
#ifndef UMAVEZ_CLI_SOURCES_H
#define UMAVEZ_CLI_SOURCES_H

#include "common/err.h"
#include "common/option.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

struct redis;

struct sources_options {
	char *database_url;
	char *effects_database_url; /* NULL: the same database */
	char *redis_url;            /* NULL: do without */
	char *name_space;
};

/* Rows of a command's option table; base is the offset of its struct sources_options.  help says
 * what becomes of the command without Redis. */
#define SOURCES_REDIS_OPTIONS(base, help)                                                          \
	{"redis-url", OPT_REDIS_URL, (base) + offsetof(struct sources_options, redis_url), NULL,   \
	    help, OPT_SECRET, 0, 0, NULL, "REDIS_URL"},                                            \
	{                                                                                          \
		"namespace", OPT_NAME, (base) + offsetof(struct sources_options, name_space),      \
		    "umavez", "Prefix of every Redis key", 0, 0, 0, NULL, NULL                     \
	}

/* Of a command that needs no effects; offset is that of its URL. */
#define SOURCES_INTAKE_OPTION(offset)                                                              \
	{                                                                                          \
		"database-url", OPT_PG_URL, offset, NULL, "PostgreSQL, where intake lives",        \
		    OPT_SECRET | OPT_REQUIRED, 0, 0, NULL, "DATABASE_URL"                          \
	}

#define SOURCES_OPTIONS(base)                                                                      \
	SOURCES_INTAKE_OPTION((base) + offsetof(struct sources_options, database_url)),            \
	    {"effects-database-url", OPT_PG_URL,                                                   \
		(base) + offsetof(struct sources_options, effects_database_url), NULL,             \
		"Where effects lives, if not in the same database", OPT_SECRET, 0, 0, NULL, NULL}, \
	    SOURCES_REDIS_OPTIONS(base, "Redis; without it, what only Redis knows is left out")

/* No URL: ERR_USAGE; no server: ERR_RETRY.  Close with redis_close(). */
int sources_open_redis(const char *url, struct redis **ret_redis, struct err *err) warn_unused;

struct sources {
	PGconn *intake;
	PGconn *effects;
	struct redis *redis; /* NULL: not reached, and why: */
	struct err redis_err;
	const char *name_space;
};

/*
 * Sessions with a statement timeout; both schemas are checked against this binary.
 * options is borrowed until sources_close().  A Redis that cannot be reached is no failure.
 */
int sources_open(const struct sources_options *options, const char *command,
    struct sources *ret_sources, struct err *err) warn_unused;
void sources_close(struct sources *s);

/* One session with one of the schemas, for `umavez <command>`.  Close with PQfinish(). */
int sources_open_schema(const char *url, const char *command, const char *schema, PGconn **ret_conn,
    struct err *err) warn_unused;

enum { SOURCES_KEY_SIZE = 256 };

/* The key of the shard's stream, and Redis at the node that has it. */
int sources_stream(const struct sources *s, unsigned shard, char key[SOURCES_KEY_SIZE],
    struct err *err) warn_unused;

/* Redis failed: do without it from now on; of a cluster other nodes may answer still. */
void sources_lose_redis(struct sources *s, const struct err *why);

#endif
