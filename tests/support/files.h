/*
 * files.h - small files and directories of a test run.
 */
#ifndef UMAVEZ_TESTS_FILES_H
#define UMAVEZ_TESTS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
