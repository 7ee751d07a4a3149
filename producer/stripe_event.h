/*
 * stripe_event.h - what a Stripe event means for a purchase.
 *
 * https://docs.stripe.com/api/events/types
 *
 * The payload has the shape of the endpoint's API version: both the one before 2025-03-31.basil and
 * the one since are read.  An id may stand alone or as its expanded object.
 */
#ifndef UMAVEZ_STRIPE_EVENT_H
#define UMAVEZ_STRIPE_EVENT_H

#include "producer/notification.h"

#include <jansson.h>

/* Fill in n from an authentic event.  NULL, or why it cannot be understood (static text); the id is
 * set wherever it can be read. */
const char *stripe_event_read(const json_t *event, struct notification *n);

#endif
