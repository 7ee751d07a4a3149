/*
 * stripe_expect.h - what a notification says that was read from an event of Stripe's.
 */
#ifndef UMAVEZ_TESTS_STRIPE_EXPECT_H
#define UMAVEZ_TESTS_STRIPE_EXPECT_H

#include "producer/notification.h"

#include <jansson.h>

/* What of a notification a case states; what is left out must be absent. */
struct stripe_expected {
	enum kind kind;
	enum state state;
	enum will_renew will_renew;
	const char *purchase, *transaction, *product, *account, *currency;
	int64_t expires_s, amount; /* 0: none */
	bool partial;
};

#define STRIPE_NOTHING .will_renew = RENEW_SAME

void stripe_expect(const struct notification *n, const struct stripe_expected *want);

/* The event must be readable.  Free the result with notification_free(). */
struct notification *stripe_read(const json_t *event);

#endif
