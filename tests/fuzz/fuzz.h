/*
 * fuzz.h - what the fuzz targets share.
 *
 * A target is one file with LLVMFuzzerTestOneInput(): bytes in, nothing out.  What it needs it
 * makes at the first input and keeps, the same in every run, so that a saved input fails again.
 * Whatever it says of the bytes it says by FUZZ_CHECK(), which aborts as a sanitizer does.
 */
#ifndef UMAVEZ_TESTS_FUZZ_H
#define UMAVEZ_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fuzz_fail(__FILE__, __LINE__, #condition);                                 \
	} while (0)

void fuzz_fail(const char *file, int line, const char *condition) __attribute__((noreturn));

/* A part of an input. */
struct fuzz_piece {
	const char *at;
	size_t len;
};

/* Cut off what is before the first separator, which goes away; without one, all of it. False when
 * *rest is empty. */
bool fuzz_cut(struct fuzz_piece *rest, char separator, struct fuzz_piece *ret_piece);

/* A copy up to the first NUL, malloc'd as long as it is, so that reading on is noticed. */
char *fuzz_text(struct fuzz_piece piece);

/* A copy of exactly these bytes, malloc'd. */
void *fuzz_copy(struct fuzz_piece piece);

/* A file below tests/vectors, malloc'd and NUL-terminated. Aborts if it is not there. */
char *fuzz_vector(const char *path, size_t *ret_len);

/*
 * A copy of bytes with edits, malloc'd: each is three bytes of the piece, an offset (the first is
 * the high byte, modulo the length) and what is XORed there.  So inputs stay small, and close to
 * something genuine that a mutator would never find.
 */
unsigned char *fuzz_edit(const void *bytes, size_t len, struct fuzz_piece edits);

/* From here on the keys that OpenSSL makes are the same in every run. */
void fuzz_fix_random(void);

/* Text that PostgreSQL takes: valid UTF-8 of at most so many bytes. NULL is fine. */
void fuzz_check_text(const char *text, size_t max);

struct notification;

/* A notification that intake.receive() takes, and that says nothing of a purchase that it does not
 * name. */
void fuzz_check_notification(const struct notification *n);

#endif
