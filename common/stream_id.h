/*
 * stream_id.h - the ID of a Redis Stream entry, "<ms>-<seq>": two unsigned 64-bit numbers.
 *
 * In our streams it is a position: <tick>-<outbox id>.
 */
#ifndef UMAVEZ_STREAM_ID_H
#define UMAVEZ_STREAM_ID_H

#include <stdbool.h>
#include <stdint.h>

struct stream_id {
	uint64_t ms;
	uint64_t seq;
};

#define STREAM_ID_SIZE 44 /* two 20-digit numbers, a dash, a NUL */
#define STREAM_ID_ZERO ((struct stream_id){0, 0})

/* Strict: digits, a dash, digits, nothing else. False leaves *ret_id alone. */
bool stream_id_parse(const char *text, struct stream_id *ret_id);
const char *stream_id_format(struct stream_id id, char buf[STREAM_ID_SIZE]);
int stream_id_compare(struct stream_id a, struct stream_id b); /* <0, 0, >0 */

/* The greatest ID below this one; of 0-0, which has none, itself. */
struct stream_id stream_id_before(struct stream_id id);

/* One half of an ID as PostgreSQL's bigint: what is beyond those is beyond every row. */
int64_t stream_id_bigint(uint64_t half);

#endif
