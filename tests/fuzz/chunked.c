/* A chunked body: in one piece or byte by byte, it is the same one, and ends at the same place. */
#include "common/chunked.h"
#include "common/memory.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BODY = 3000 };

struct body {
	struct chunked chunked;
	int status;
	size_t used, len;
	char bytes[MAX_BODY];
};

static void read_piece(struct body *b, const uint8_t *data, size_t size)
{
	char *copy = mem_alloc(size + 1);
	size_t used = 0, len = 0;
	const char *detail = NULL;

	memcpy(copy, data, size);
	b->status = chunked_read(&b->chunked, copy, size, MAX_BODY, &used, &len, &detail);
	FUZZ_CHECK((b->status == 0) == (detail == NULL));
	if (b->status == 0) {
		FUZZ_CHECK(used == size || b->chunked.complete);
		FUZZ_CHECK(len <= used && b->len + len <= MAX_BODY);
		memcpy(b->bytes + b->len, copy, len);
		b->len += len;
		b->used += used;
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct body whole = {.status = 0}, pieces = {.status = 0};

	if (size == 0)
		return 0;
	read_piece(&whole, data, size);
	for (size_t i = 0; i < size && pieces.status == 0 && !pieces.chunked.complete; i++)
		read_piece(&pieces, data + i, 1);
	FUZZ_CHECK(whole.status == pieces.status);
	FUZZ_CHECK(whole.chunked.complete == pieces.chunked.complete);
	if (whole.status != 0)
		return 0;
	FUZZ_CHECK(whole.used == pieces.used && whole.len == pieces.len);
	FUZZ_CHECK(memcmp(whole.bytes, pieces.bytes, whole.len) == 0);
	if (whole.chunked.complete) {
		FUZZ_CHECK((int64_t)whole.len == whole.chunked.len);
		FUZZ_CHECK(whole.used >= 5 && memcmp(data + whole.used - 2, "\r\n", 2) == 0);
	}
	return 0;
}
