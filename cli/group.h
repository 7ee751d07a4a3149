/*
 * group.h - consumer groups: those that intake.stream_group knows, and those of the streams.
 */
#ifndef UMAVEZ_CLI_GROUP_H
#define UMAVEZ_CLI_GROUP_H

#include "cli/print.h"
#include "common/err.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redis;

struct group {
	unsigned shard;
	char *name;
	bool registered;    /* trimming waits for it */
	char *acknowledged; /* up to here, as stored; NULL unless registered */
	char *at;           /* when that was read: YYYY-MM-DD HH:MM:SS in UTC */
	bool in_stream;
	char *delivered; /* last-delivered-id; NULL unless in_stream */
	int64_t pending; /* delivered and not acknowledged */
};

struct groups {
	size_t n;
	struct group *list;
};

/* All of them, by shard and name.  name NULL: any; redis NULL: only the registered.  Free with
 * groups_done(). */
int groups_read(PGconn *intake, struct redis *redis, const char *name_space, const char *name,
    struct groups *ret, struct err *err) warn_unused;
void groups_done(struct groups *g);

void groups_print_json(FILE *out, const struct groups *g);
void groups_print(const struct printer *p, const struct groups *g, bool with_redis);

#endif
