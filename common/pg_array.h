/*
 * pg_array.h - one-dimensional PostgreSQL arrays in binary form, for batched parameters.
 *
 * Layout: array_recv() in PostgreSQL's arrayfuncs.c: ndim, flags, element oid, length, lower bound,
 * then each element as a 32-bit length (-1: NULL) and its bytes, all in network order.
 */
#ifndef UMAVEZ_PG_ARRAY_H
#define UMAVEZ_PG_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* pg_type.dat */
enum pg_oid {
	PG_BOOL = 16,
	PG_BYTEA = 17,
	PG_INT8 = 20,
	PG_INT2 = 21,
	PG_INT4 = 23,
	PG_TEXT = 25,
	PG_JSON = 114,
	PG_TIMESTAMPTZ = 1184,
};

struct pg_array {
	enum pg_oid type;
	uint32_t n;
	bool has_null;
	char *bytes;
	size_t len, cap;
};

/* Zeroed memory is not enough: the type matters. Free with pg_array_done(). */
void pg_array_init(struct pg_array *a, enum pg_oid type);
void pg_array_done(struct pg_array *a);
void pg_array_reset(struct pg_array *a); /* empty, memory kept */

void pg_array_null(struct pg_array *a);
void pg_array_bytes(struct pg_array *a, const void *bytes, size_t len); /* text, bytea, json */
void pg_array_text(struct pg_array *a, const char *text);               /* NULL: SQL NULL */
void pg_array_int(struct pg_array *a, int64_t value); /* int2, int4, int8 by the array's type */
void pg_array_bool(struct pg_array *a, bool value);
void pg_array_time(struct pg_array *a, int64_t wall_ms); /* timestamptz */

/* The finished parameter; valid until the next change. Its format code is 1. */
const char *pg_array_value(struct pg_array *a, int *ret_len);

#endif
