#include "simulate/progress.h"

#include "cli/print.h"
#include "tests/support/die.h"
#include "tests/support/pause.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

void progress_init(struct progress *p, bool quiet)
{
	*p = (struct progress){.quiet = quiet, .started_ms = now_ms()};
}

void progress_say(const struct progress *p, const char *fmt, ...)
{
	int64_t ms = now_ms() - p->started_ms;
	struct printer printer;
	va_list args;
	char *line;

	if (p->quiet)
		return;
	va_start(args, fmt);
	if (vasprintf(&line, fmt, args) < 0)
		die("out of memory");
	va_end(args);
	printer_init(&printer, stderr);
	print_text(&printer, TINT_DIM, "%3" PRId64 ".%" PRId64 " s", ms / 1000, ms % 1000 / 100);
	fprintf(stderr, "  %s\n", line);
	free(line);
}
