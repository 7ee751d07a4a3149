/*
 * admin.h - GET /livez, /readyz and /metrics, on a thread of its own.
 *
 * For loopback or a private network.  /livez: the process can answer. /readyz: it makes progress
 * (200 or 503 with the reason, one line). /metrics: Prometheus text.  The service manager is told
 * (notify.h) as soon as /readyz is 200, and before that why it is not.
 */
#ifndef UMAVEZ_ADMIN_H
#define UMAVEZ_ADMIN_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>

struct admin;
struct metrics;

/* Called on the admin thread: is the service making progress? reason is why not, or what
 * else should be known; left alone, the answer is "ok" or "not ready". */
typedef bool admin_ready_fn(void *ctx, char *reason, size_t reason_size);

/* endpoint as option_endpoint() takes it; metrics and ctx are borrowed until admin_close(). */
int admin_open(const char *endpoint, struct metrics *metrics, admin_ready_fn *ready, void *ctx,
    struct admin **ret_admin, struct err *err) warn_unused;
int admin_port(const struct admin *a); /* the port in use (0 asked: chosen by the system) */
void admin_close(struct admin *a);     /* NULL is fine */

#endif
