/*
 * client.h - connections to Redis that a check is about; an error fails the check.
 */
#ifndef UMAVEZ_TESTS_COMMON_CLIENT_H
#define UMAVEZ_TESTS_COMMON_CLIENT_H

#include "common/redis.h"
#include "tests/support/world.h"

/* Close them with redis_close(). */
struct redis *client_open(struct world *w);
struct redis *client_open_at(const char *url, int64_t timeout_ms);

/* A command whose reply does not matter. */
void client_command(struct redis *r, const char *text);

#endif
