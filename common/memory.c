#include "common/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *p)
{
	if (!p) {
		fputs("umavez: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *mem_alloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *mem_zalloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

void *mem_realloc(void *p, size_t size)
{
	return checked(realloc(p, size ? size : 1));
}

char *mem_strdup(const char *s)
{
	return s ? checked(strdup(s)) : NULL;
}

char *mem_strndup(const char *s, size_t len)
{
	return checked(strndup(s, len));
}

char *mem_printf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return checked(n < 0 ? NULL : text);
}
