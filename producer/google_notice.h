/*
 * google_notice.h - what a Google Play developer notification means for a purchase.
 *
 * https://developer.android.com/google/play/billing/rtdn-reference
 *
 * A developer notification says what happened to a purchase token, and little else: no state, no
 * account, often no product.
 */
#ifndef UMAVEZ_GOOGLE_NOTICE_H
#define UMAVEZ_GOOGLE_NOTICE_H

#include "producer/notification.h"

#include <jansson.h>

/* Fill in n, but for its id, from a developer notification.  NULL, or why it cannot be understood
 * (static text). */
const char *google_notice_read(const json_t *notice, struct notification *n);

#endif
