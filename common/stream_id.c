#include "common/stream_id.h"

#include <inttypes.h>
#include <stdio.h>

/* Digits up to *end; false on none, or more than 64 bits hold. */
static bool parse_number(const char *text, const char **end, uint64_t *ret_n)
{
	uint64_t n = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return false;
	}
	*end = p;
	*ret_n = n;
	return p > text;
}

bool stream_id_parse(const char *text, struct stream_id *ret_id)
{
	struct stream_id id;
	const char *p;

	if (!parse_number(text, &p, &id.ms) || *p != '-')
		return false;
	if (!parse_number(p + 1, &p, &id.seq) || *p != '\0')
		return false;
	*ret_id = id;
	return true;
}

const char *stream_id_format(struct stream_id id, char buf[STREAM_ID_SIZE])
{
	snprintf(buf, STREAM_ID_SIZE, "%" PRIu64 "-%" PRIu64, id.ms, id.seq);
	return buf;
}

int stream_id_compare(struct stream_id a, struct stream_id b)
{
	if (a.ms != b.ms)
		return a.ms < b.ms ? -1 : 1;
	if (a.seq != b.seq)
		return a.seq < b.seq ? -1 : 1;
	return 0;
}

struct stream_id stream_id_before(struct stream_id id)
{
	if (id.seq > 0)
		return (struct stream_id){id.ms, id.seq - 1};
	return id.ms > 0 ? (struct stream_id){id.ms - 1, UINT64_MAX} : STREAM_ID_ZERO;
}

int64_t stream_id_bigint(uint64_t half)
{
	return half > INT64_MAX ? INT64_MAX : (int64_t)half;
}
