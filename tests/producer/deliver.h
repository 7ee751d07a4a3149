/*
 * deliver.h - Stripe notifications for tests of the server: made, posted, and posted in parallel.
 */
#ifndef UMAVEZ_TESTS_DELIVER_H
#define UMAVEZ_TESTS_DELIVER_H

#include "tests/support/world.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* An event about a subscription that is active; malloc'd. */
char *deliver_event(const char *id, const char *subscription);

/* The whole HTTP request, signed now; malloc'd. more: header lines with CR LF, or "". */
char *deliver_request(const char *id, const char *subscription, const char *more);

/* Post it. The status (0: no answer); *ret_body is malloc'd and may be NULL. */
int deliver(const char *url, const char *id, const char *subscription, char **ret_body);

/* The same on a thread of its own.  Static, so that a check that fails leaves nothing on the stack
 * that the thread still writes to. */
struct delivery {
	const char *url;
	char id[32], subscription[32];
	int status;
	int64_t ms; /* it took */
	pthread_t thread;
};
void delivery_start(struct delivery *d, const char *url, const char *id, const char *subscription);
void delivery_join(struct delivery *d);

#endif
