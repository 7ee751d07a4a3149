#include "tests/support/text.h"

#include "tests/support/die.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *text_format(const char *fmt, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		die("out of memory");
	return text;
}

int64_t text_count(const char *text, const char *part)
{
	int64_t n = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		n++;
	return n;
}
