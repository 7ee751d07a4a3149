/*
 * group.h - consumer groups: those that intake.stream_group knows, and those of the streams.
 */
#ifndef UMAVEZ_CLI_GROUP_H
#define UMAVEZ_CLI_GROUP_H

#include "cli/print.h"
#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sources;

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

/* Which are meant. */
struct group_filter {
	const char *name; /* NULL: any */
	int64_t shard;    /* < 0: any */
};

/* By shard and name; without Redis only those that are registered.  Free with groups_done(). */
int groups_read(const struct sources *sources, struct group_filter filter, struct groups *ret,
    struct err *err) warn_unused;
void groups_done(struct groups *g);

/* Whether there is anything to forget, or to destroy.  What is in a stream would be registered
 * again, so it is forgotten only where it is destroyed too. */
bool groups_may_drop(const struct groups *g, bool destroy);

/*
 * Trimming does not wait for them any more, and relays do not see them in the streams if they are
 * destroyed there: which comes first, or they would be registered again.  A call that failed may be
 * repeated.  Writes intake.stream_group.
 */
int groups_drop(const struct sources *sources, const struct groups *g, bool destroy,
    struct err *err) warn_unused;

/* What that did, or would do. */
void groups_tell_drop(
    FILE *out, const char *name_space, const struct groups *g, bool destroy, bool done);

json_t *groups_json(const struct groups *g); /* the caller's */
void groups_print(const struct printer *p, const struct groups *g, bool with_redis);

#endif
