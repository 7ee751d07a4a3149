/*
 * wakeup.h - what NOTIFY umavez_outbox says: in which shards rows have been committed.
 *
 * The payload is a set of bits in hexadecimal, one for each shard modulo 64; none: in any.  A relay
 * need not look where nothing has come.
 */
#ifndef UMAVEZ_WAKEUP_H
#define UMAVEZ_WAKEUP_H

#include <stdbool.h>
#include <stdint.h>

#define WAKEUP_ANY UINT64_MAX

/* The bit of the shard of this subject, as intake.shard_of_subject() has it. shards 0: not known.
 */
uint64_t wakeup_of(const char *subject, unsigned shards);

/* The command; "NOTIFY umavez_outbox" for WAKEUP_ANY. */
#define WAKEUP_SIZE 48
const char *wakeup_command(uint64_t where, char buf[WAKEUP_SIZE]);

/* Whether this payload is about a shard; one that cannot be read is about all. */
bool wakeup_concerns(const char *payload, unsigned shard);

#endif
