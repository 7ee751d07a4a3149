/*
 * fake_redis.h - a Redis server that sends what an input holds, whatever it is asked.
 *
 * The target is linked with -Wl,--wrap=redisConnectUnixNonBlock: connecting to FAKE_REDIS_URL gives
 * a connection on which all the replies are there already, and then the end.
 */
#ifndef UMAVEZ_TESTS_FAKE_REDIS_H
#define UMAVEZ_TESTS_FAKE_REDIS_H

#include "tests/fuzz/fuzz.h"

#define FAKE_REDIS_URL "unix:///nowhere"

/* The first reply is to ROLE.  False: not to be tried, since it announces much more than it has,
 * and hiredis would make room for it; a server is trusted that far. */
bool fake_redis_open(struct fuzz_piece replies);
void fake_redis_close(void);

#endif
