/*
 * refused.h - requests that were refused: counted, and told in the log.
 *
 * Anybody can have requests refused, so they must not fill the log: of each store and reason the
 * first is told at once, and then how many there were, at most once a minute.
 */
#ifndef UMAVEZ_REFUSED_H
#define UMAVEZ_REFUSED_H

#include <stdint.h>

struct meter;
struct refused;

struct refused *refused_new(struct meter *meter); /* borrowed until refused_free() */
void refused_free(struct refused *r);             /* tells what is left; NULL is fine */

/* Any thread.  Everything is static text, of small sets and without input; store: "none" where it
 * was not asked. */
void refused_add(
    struct refused *r, const char *store, const char *reason, const char *detail, int64_t now_us);

/* Now and then, from any thread: tells those whose minute is over. */
void refused_tell(struct refused *r, int64_t now_us);

#endif
