/*
 * meter.h - what the producer counts.
 */
#ifndef UMAVEZ_METER_H
#define UMAVEZ_METER_H

#include <stddef.h>
#include <stdint.h>

struct metrics;
struct meter;

/* metrics is borrowed until meter_free(). */
struct meter *meter_new(struct metrics *metrics);
void meter_free(struct meter *m); /* NULL is fine */

/* outcome: accepted duplicate quarantined refused unavailable. */
void meter_notification(struct meter *m, const char *store, const char *outcome);

/* A request that is no notification of ours; by refused_add() alone, which tells it too. */
void meter_refused(struct meter *m, const char *store, const char *reason);

void meter_receive(struct meter *m, int64_t us); /* first byte to answer */
void meter_commit(struct meter *m, int64_t us);  /* statement sent to verdict */
void meter_batch(struct meter *m, size_t n);
void meter_queue(struct meter *m, int change);
void meter_database(struct meter *m, int change); /* connections that are up */

#endif
