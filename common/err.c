#include "common/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Other programs' messages come in several lines; ours have one. */
static void flatten(char *s)
{
	char *end = s + strlen(s);

	while (end > s && (unsigned char)end[-1] <= ' ')
		*--end = '\0';
	for (; *s; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = ' ';
	}
}

int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
	struct err e = {.kind = kind}; /* the arguments may point into *err */
	va_list ap;

	assert(kind != ERR_NONE);
	va_start(ap, fmt);
	vsnprintf(e.message, sizeof(e.message), fmt, ap);
	va_end(ap);
	flatten(e.message);
	*err = e;
	return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char message[sizeof(err->message)];
	va_list ap;

	assert(err->kind != ERR_NONE);
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);

	size_t used = strlen(message);
	/* What does not fit is cut at the end: the beginning says where it happened. */
	if (snprintf(message + used, sizeof(message) - used, ": %s", err->message) < 0)
		abort();
	flatten(message);
	memcpy(err->message, message, sizeof(message));
	return -1;
}

void err_add_context(struct err *err, const char *label, const char *text, size_t len)
{
	size_t used = strlen(err->context);

	snprintf(err->context + used, sizeof(err->context) - used, "%s%s: %.*s",
	    used > 0 ? "; " : "", label, (int)len, text);
	flatten(err->context);
}

const char *err_kind_name(enum err_kind kind)
{
	switch (kind) {
	case ERR_NONE:
		return "none";
	case ERR_RETRY:
		return "retry";
	case ERR_REJECT:
		return "reject";
	case ERR_FATAL:
		return "fatal";
	case ERR_USAGE:
		return "usage";
	case ERR_MISMATCH:
		return "mismatch";
	}
	return "unknown";
}

int err_exit_status(const struct err *err)
{
	switch (err->kind) {
	case ERR_NONE:
		return 0;
	case ERR_USAGE:
		return 2;
	case ERR_MISMATCH:
		return 3;
	case ERR_RETRY:
	case ERR_REJECT:
	case ERR_FATAL:
		break;
	}
	return 1;
}
