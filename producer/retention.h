/*
 * retention.h - the producer's share of retention: partitions made ahead, so that inserts have them
 * also when no relay runs, and old bodies nulled.
 *
 * The functions of schema/008 do one small piece a call; several producers may ask at once, and one
 * of them works.
 */
#ifndef UMAVEZ_PRODUCER_RETENTION_H
#define UMAVEZ_PRODUCER_RETENTION_H

#include "common/err.h"
#include "producer/config.h"

struct metrics;
struct retention;

/* Everything is borrowed until retention_stop(). */
int retention_start(const struct config *config, struct metrics *metrics,
    struct retention **ret_retention, struct err *err) warn_unused;

/* Stops the service if nobody has. NULL is fine. */
void retention_stop(struct retention *r);

#endif
