/*
 * files.h - paths, small files and directories of a test run.
 */
#ifndef UMAVEZ_TESTS_FILES_H
#define UMAVEZ_TESTS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* snprintf() into a new string. Never NULL. */
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

int64_t text_count(const char *text, const char *part); /* how often part stands in text */

/* $TMPDIR, or /tmp. */
const char *temp_root(void);

/* A whole file, NUL-terminated, or NULL with errno. ret_len may be NULL. */
char *file_read(const char *path, size_t *ret_len);
void file_write(const char *path, const char *text); /* aborts the program on failure */

bool file_has(const char *path, const char *text);
int64_t file_count(const char *path, const char *text);   /* how often it stands there */
void file_print_tail(const char *path, size_t max_bytes); /* to stderr, under its name */

/* A directory and all below it. A directory that is not there is fine. */
void tree_remove(const char *path);

/* Milliseconds on a clock that never steps. */
int64_t now_ms(void);
void sleep_ms(int64_t ms);

/* Sleep before the next look at what has been awaited since then: longer, the longer it takes,
 * since a look costs what others could use to bring it about. */
void poll_pause(int64_t since_ms);

/* Print the message to stderr and exit(1): a test without its set-up is a failed test. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
