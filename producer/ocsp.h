/*
 * ocsp.h - has a certificate of this chain been revoked since?
 *
 * Asks the responders that leaf and intermediate name (RFC 5280, section 4.2.2.1), through the
 * fetcher, and never waits for them: the first question about a certificate is answered "pending".
 * Answers are kept as long as they hold, at most a day; a responder that cannot be reached, or that
 * cannot be believed, is asked again after a few seconds.  What is not known is never taken for
 * revoked.  A certificate that names no responder cannot be asked about and counts as not revoked.
 */
#ifndef UMAVEZ_OCSP_H
#define UMAVEZ_OCSP_H

#include "producer/chain.h"
#include "producer/ocsp_message.h"

#include <stdint.h>

struct fetcher;
struct ocsp;

/* How long a responder may take, and how long after a question that failed it is asked again. */
#define OCSP_TIMEOUT_MS INT64_C(3000)
#define OCSP_RETRY_MS INT64_C(5000)

/* fetcher is borrowed, and must be closed before ocsp_free(): answers still come in until then. */
struct ocsp *ocsp_new(struct fetcher *fetcher);
void ocsp_free(struct ocsp *o); /* NULL is fine */

/* The worst that is known of the two certificates. Any thread; never blocks. */
enum revocation ocsp_ask(struct ocsp *o, struct chain *chain, int64_t now_ms);

#endif
