/*
 * sentinels.h - three sentinels who watch one Redis master, and replace it soon after it died.
 *
 * They call it SENTINELS_MASTER.  Two of them agree on a failover.
 */
#ifndef UMAVEZ_TESTS_SENTINELS_H
#define UMAVEZ_TESTS_SENTINELS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SENTINELS 3
#define SENTINELS_MASTER "umavez"

struct sentinels;

/* Running.  dir must not exist; port: of the master, on 127.0.0.1. */
struct sentinels *sentinels_new(const char *dir, int port);
void sentinels_free(struct sentinels *s); /* kills them; NULL is fine */

/* Until each of them names this port, is at rest, and sees one replica that follows. */
bool sentinels_await(struct sentinels *s, int port, int64_t timeout_ms);

/* Until each of them names this port. */
bool sentinels_await_master(struct sentinels *s, int port, int64_t timeout_ms);

/* One command at one of them; dies on an error. Formatted as by redisCommand(). */
void sentinels_run(struct sentinels *s, int i, const char *fmt, ...);

int sentinels_port(const struct sentinels *s, int i);
pid_t sentinels_pid(const struct sentinels *s, int i);

/* redis-sentinel://...; user NULL: the default user; else the password is the user's name.
 * malloc'd.
 */
char *sentinels_url(const struct sentinels *s, const char *user);

#endif
