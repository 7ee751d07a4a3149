#include "common/pg_array.h"

#include "common/memory.h"

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* ndim, flags, element oid, length, lower bound */
enum { HEADER = 5 * 4 };

/* Microseconds from 1970 to 2000, where timestamptz begins to count. */
#define POSTGRES_EPOCH_US INT64_C(946684800000000)

void pg_array_init(struct pg_array *a, enum pg_oid type)
{
	*a = (struct pg_array){.type = type};
}

void pg_array_done(struct pg_array *a)
{
	free(a->bytes);
	*a = (struct pg_array){.type = a->type};
}

void pg_array_reset(struct pg_array *a)
{
	a->n = 0;
	a->has_null = false;
	a->len = 0;
}

/* Room for the header, which is filled in last, and len more bytes. */
static char *extend(struct pg_array *a, size_t len)
{
	if (a->len == 0)
		a->len = HEADER;
	if (a->cap < a->len + len) {
		a->cap = (a->len + len) * 2;
		a->bytes = mem_realloc(a->bytes, a->cap);
	}
	char *at = a->bytes + a->len;
	a->len += len;
	return at;
}

static void put32(char *at, uint32_t value)
{
	uint32_t net = htonl(value);

	memcpy(at, &net, sizeof(net));
}

static void put_element(struct pg_array *a, const void *bytes, size_t len)
{
	assert(len <= INT32_MAX);
	char *at = extend(a, 4 + len);
	put32(at, (uint32_t)len);
	if (len > 0)
		memcpy(at + 4, bytes, len);
	a->n++;
}

void pg_array_null(struct pg_array *a)
{
	put32(extend(a, 4), UINT32_MAX);
	a->has_null = true;
	a->n++;
}

void pg_array_bytes(struct pg_array *a, const void *bytes, size_t len)
{
	assert(a->type == PG_TEXT || a->type == PG_BYTEA || a->type == PG_JSON);
	put_element(a, bytes, len);
}

void pg_array_text(struct pg_array *a, const char *text)
{
	if (text)
		pg_array_bytes(a, text, strlen(text));
	else
		pg_array_null(a);
}

static void put_int64(struct pg_array *a, int64_t value)
{
	uint64_t net = htobe64((uint64_t)value);

	put_element(a, &net, sizeof(net));
}

void pg_array_int(struct pg_array *a, int64_t value)
{
	if (a->type == PG_INT8) {
		put_int64(a, value);
	} else if (a->type == PG_INT4) {
		assert(value >= INT32_MIN && value <= INT32_MAX);
		uint32_t net = htonl((uint32_t)value);
		put_element(a, &net, sizeof(net));
	} else {
		assert(a->type == PG_INT2 && value >= INT16_MIN && value <= INT16_MAX);
		uint16_t net = htons((uint16_t)value);
		put_element(a, &net, sizeof(net));
	}
}

void pg_array_bool(struct pg_array *a, bool value)
{
	char byte = value;

	assert(a->type == PG_BOOL);
	put_element(a, &byte, 1);
}

void pg_array_time(struct pg_array *a, int64_t wall_ms)
{
	assert(a->type == PG_TIMESTAMPTZ);
	assert(wall_ms > INT64_MIN / 1000 && wall_ms < INT64_MAX / 1000 - POSTGRES_EPOCH_US);
	put_int64(a, wall_ms * 1000 - POSTGRES_EPOCH_US);
}

const char *pg_array_value(struct pg_array *a, int *ret_len)
{
	extend(a, 0);
	assert(a->len <= INT32_MAX);
	/* The empty array has no dimension at all. */
	put32(a->bytes, a->n > 0 ? 1 : 0);
	put32(a->bytes + 4, a->has_null ? 1 : 0);
	put32(a->bytes + 8, (uint32_t)a->type);
	put32(a->bytes + 12, a->n);
	put32(a->bytes + 16, 1);
	*ret_len = a->n > 0 ? (int)a->len : 3 * 4;
	return a->bytes;
}
