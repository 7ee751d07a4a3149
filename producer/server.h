/*
 * server.h - the producer's event loops, each on a thread of its own.
 */
#ifndef UMAVEZ_SERVER_H
#define UMAVEZ_SERVER_H

#include "common/err.h"
#include "producer/config.h"
#include "producer/route.h"

#include <stdbool.h>
#include <stddef.h>

struct metrics;
struct server;

/* Everything is borrowed until server_close(). Listens when it returns; the loops drain and end by
 * themselves once service_stopping(). ERR_FATAL: the address cannot be had, or no thread. */
int server_open(const struct config *config, const char *instance, const struct routes *routes,
    struct metrics *metrics, struct server **ret_server, struct err *err) warn_unused;

int server_port(const struct server *s);

/* admin_ready_fn: every loop has a database connection and turns, and we are not stopping. */
bool server_ready(void *server, char *reason, size_t reason_size);

/* Wait for the loops to end. *ret_unanswered: requests that had no answer when the time was over.
 * ERR_FATAL: a loop does not end, and nothing may be freed. */
int server_join(struct server *s, unsigned *ret_unanswered, struct err *err) warn_unused;

void server_close(struct server *s); /* joined, or never started; NULL is fine */

#endif
