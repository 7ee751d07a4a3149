#include "tests/bench/contestant.h"

#include <inttypes.h>
#include <stdio.h>

const char *const figure_names[FIGURES] = {
    [FIGURE_RATE] = "messages_per_second",
    [FIGURE_P50] = "p50_ms",
    [FIGURE_P99] = "p99_ms",
    [FIGURE_MAX] = "max_ms",
    [FIGURE_STREAM_P50] = "commit_to_stream_p50_ms",
    [FIGURE_STREAM_P99] = "commit_to_stream_p99_ms",
    [FIGURE_COMMIT] = "commit_ms",
    [FIGURE_BATCH] = "batch",
    [FIGURE_CPU] = "cpu_percent",
    [FIGURE_STATEMENTS] = "statements_per_second_and_shard",
    [FIGURE_READY] = "ready_ms",
    [FIGURE_RSS] = "rss_mib",
};

bool ledger_holds(const struct heat *h, int64_t lost, int64_t doubled)
{
	if (lost == 0 && doubled == 0)
		return true;
	fprintf(stderr, "%s: lost %" PRId64 ", doubled %" PRId64 "\n", h->contestant->name, lost,
	    doubled);
	return false;
}
