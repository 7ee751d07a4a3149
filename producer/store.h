/*
 * store.h - what every store answers: is this authentic, and which notification is it?
 *
 * Pure of I/O on the network: bytes in, verdict out.  A store may be asked from several threads at
 * once.  Authentic = verified and addressed to us.  Authentic bytes always give a notification, if
 * only a quarantined one (promise P12).
 */
#ifndef UMAVEZ_STORE_H
#define UMAVEZ_STORE_H

#include "producer/notification.h"

#include <stddef.h>
#include <stdint.h>

/* One request, as the server read it. Header values are NULL when absent; a header that came twice
 * has been refused before. */
struct webhook {
	const void *body;
	size_t len;
	const char *authorization;
	const char *stripe_signature;
	const char *pubsub_message_id; /* x-goog-pubsub-message-id: unwrapped push with metadata */
	int64_t now_ms;
};

enum verdict {
	VERDICT_AUTHENTIC,  /* *ret_notification is set, the caller's to free */
	VERDICT_FORGED,     /* 401: not authentic for us; nothing is stored */
	VERDICT_MALFORMED,  /* 400: not even of the store's form */
	VERDICT_LATER,      /* ask again soon: a key or a revocation answer is being fetched */
	VERDICT_UNAVAILABLE /* 503: it could not be verified now; a retry may succeed */
};

/* Why, for the metric label (a small fixed set) and the problem document. Static text. */
struct refusal {
	const char *reason; /* "bad_signature" */
	const char *detail; /* one sentence that says what to do; no secrets, no input */
};

static inline enum verdict store_refuse(
    enum verdict verdict, const char *reason, const char *detail, struct refusal *ret_refusal)
{
	*ret_refusal = (struct refusal){reason, detail};
	return verdict;
}

/* For each store, X_read(): */
typedef enum verdict store_read_fn(void *store, const struct webhook *hook,
    struct notification **ret_notification, struct refusal *ret_refusal);

#endif
