#include "tests/fuzz/fuzz.h"

#include "common/memory.h"
#include "common/utf8.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

bool fuzz_cut(struct fuzz_piece *rest, char separator, struct fuzz_piece *ret_piece)
{
	const char *at = rest->len > 0 ? memchr(rest->at, separator, rest->len) : NULL;
	size_t len = at ? (size_t)(at - rest->at) : rest->len;

	if (rest->len == 0)
		return false;
	*ret_piece = (struct fuzz_piece){rest->at, len};
	if (at)
		len++;
	*rest = (struct fuzz_piece){rest->at + len, rest->len - len};
	return true;
}

char *fuzz_text(struct fuzz_piece piece)
{
	return mem_strndup(piece.at, strnlen(piece.at, piece.len));
}

void *fuzz_copy(struct fuzz_piece piece)
{
	void *copy = mem_alloc(piece.len);

	if (piece.len > 0)
		memcpy(copy, piece.at, piece.len);
	return copy;
}

char *fuzz_vector(const char *path, size_t *ret_len)
{
	char *full = text_format(UMAVEZ_SOURCE_DIR "/tests/vectors/%s", path);
	char *bytes = file_read(full, ret_len);

	if (!bytes)
		die("%s: %m", full);
	free(full);
	return bytes;
}

unsigned char *fuzz_edit(const void *bytes, size_t len, struct fuzz_piece edits)
{
	const unsigned char *edit = (const unsigned char *)edits.at;
	unsigned char *copy = mem_alloc(len);

	memcpy(copy, bytes, len);
	for (size_t i = 0; i + 3 <= edits.len; i += 3)
		copy[(edit[i] << 8 | edit[i + 1]) % len] ^= edit[i + 2];
	return copy;
}

void fuzz_check_text(const char *text, size_t max)
{
	if (!text)
		return;
	FUZZ_CHECK(strlen(text) <= max);
	FUZZ_CHECK(utf8_valid(text, strlen(text)));
}
