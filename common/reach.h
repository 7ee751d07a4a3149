/*
 * reach.h - whether Redis answers from here, and to whom.
 *
 * What every shard's thread meets, and the keeper of leases asks: shards of a
 * process that Redis does not answer belong to one that it answers.  Of a
 * cluster any node may answer: where only a shard's own is away, it is so for
 * the others too.
 */
#ifndef UMAVEZ_REACH_H
#define UMAVEZ_REACH_H

#include <stdint.h>

struct reach;

/*
 * Silence counts after patience_ms; so that it is asked in time, no question takes longer than a
 * third of that, nor than two seconds.  right: a command that changes nothing, and that of the
 * users in schema/redis.acl only this program's may give; without that right the service fails
 * before it takes a shard from one that has it.  Both texts are borrowed until reach_free().
 */
struct reach *reach_new(const char *redis_url, const char *right, int64_t patience_ms);
void reach_free(struct reach *r); /* NULL is fine */

/* By any thread: Redis does not answer on a connection any more, and it does on one. */
void reach_lost(struct reach *r);
void reach_answered(struct reach *r);

/*
 * By the keeper: why nothing should be held here, or NULL; valid until the next call.  Redis is
 * asked once more before that is said, and again at each call until it answers; before the first
 * answer it is asked at once.  An error that asking again does not mend ends the service
 * (service_fail()).
 */
const char *reach_problem(struct reach *r);

#endif
