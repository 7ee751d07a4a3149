/*
 * memory.h - allocation that does not fail.
 *
 * Memory here is bounded by configuration, so running out of it is not a state to go on from: these
 * abort with a line on stderr, and a restart is safe at any instruction.
 */
#ifndef UMAVEZ_MEMORY_H
#define UMAVEZ_MEMORY_H

#include <stddef.h>

void *mem_alloc(size_t size);
void *mem_zalloc(size_t count, size_t size);
void *mem_realloc(void *p, size_t size);
char *mem_strdup(const char *s); /* NULL gives NULL */
char *mem_strndup(const char *s, size_t len);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
