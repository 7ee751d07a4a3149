#include "tests/chaos/report.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char head[] = "| seed | seconds | notifications | requests | kills | cuts | "
			   "failovers | rewinds | effects | violations |\n"
			   "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";

/* One write, so that rows of two processes do not mix. */
static void append(const char *path, int flags, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | flags, 0644);

	if (fd < 0 && errno == EEXIST)
		return;
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s: %s", path, strerror(errno));
	close(fd);
}

void report_row(const char *path, uint64_t seed, int64_t for_ms, const struct scene *s,
    const struct ledger *ledger)
{
	char *row = text_format("| %" PRIu64 " | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64
				" | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64
				" | %" PRId64 " |\n",
	    seed, for_ms / 1000, ledger->load.notifications, ledger->load.sends, s->counts.kills,
	    s->counts.cuts, s->counts.failovers, scene_rewinds(s), ledger->effects,
	    s->counts.violations);

	append(path, O_EXCL, head);
	append(path, 0, row);
	free(row);
}
