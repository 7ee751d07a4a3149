#include "tests/bench/table.h"

#include "tests/bench/goals.h"

#include <math.h>
#include <string.h>

/* The columns: a figure and its heading. */
static const struct {
	enum figure figure;
	const char *heading;
	int decimals;
} columns[] = {
    {FIGURE_RATE, "a second", 0},
    {FIGURE_P50, "p50 ms", 2},
    {FIGURE_P99, "p99 ms", 2},
    {FIGURE_MAX, "max ms", 1},
    {FIGURE_STREAM_P50, "to stream", 2},
    {FIGURE_STREAM_P99, "p99", 2},
    {FIGURE_COMMIT, "commit", 2},
    {FIGURE_BATCH, "batch", 1},
    {FIGURE_CPU, "cpu %", 2},
    {FIGURE_STATEMENTS, "stmt/s", 2},
    {FIGURE_READY, "ready ms", 0},
    {FIGURE_RSS, "MiB", 1},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static bool has_column(const struct results *r, const struct chapter *chapter, enum figure figure)
{
	for (int i = 0; i < r->n; i++)
		if (r->all[i].chapter == chapter && !isnan(result_median(&r->all[i], figure)))
			return true;
	return false;
}

static void print_heading(FILE *out, const struct results *r, const struct chapter *chapter)
{
	fprintf(out, "\n%-40s", chapter->name);
	for (size_t k = 0; k < COLUMNS; k++)
		if (has_column(r, chapter, columns[k].figure))
			fprintf(out, "%10s", columns[k].heading);
	fprintf(out, "  %s\n", chapter->what);
}

static void print_result(FILE *out, const struct results *r, const struct result *result)
{
	fprintf(out, "%-40s", result->contestant->name);
	if (result->obstacle != NULL) {
		fprintf(out, "  not measured: %s\n", result->obstacle);
		return;
	}
	for (size_t k = 0; k < COLUMNS; k++) {
		double median = result_median(result, columns[k].figure);

		if (!has_column(r, result->chapter, columns[k].figure))
			continue;
		if (isnan(median))
			fprintf(out, "%10s", "");
		else
			fprintf(out, "%10.*f", columns[k].decimals, median);
	}
	fprintf(out, "  %s\n", result->contestant->what);
}

static void print_goals(FILE *out, const struct results *r)
{
	static const char *const words[] = {
	    [GOAL_MET] = "met", [GOAL_NOT_MET] = "NOT MET", [GOAL_UNKNOWN] = ""};

	fprintf(out, "\n%-48s%10s%10s\n", "goals", "wanted", "is");
	for (size_t i = 0; i < n_goals; i++) {
		double value;
		enum verdict verdict = goal_judge(&goals[i], r, &value);

		if (verdict == GOAL_UNKNOWN)
			continue;
		fprintf(out, "%-48s%4s%6g%10.2f  %s\n", goals[i].what,
		    goals[i].at_most ? "<=" : ">=", goals[i].bound, value, words[verdict]);
	}
}

void table_print(FILE *out, const struct results *results)
{
	const struct chapter *chapter = NULL;
	int failed = results_failed(results);

	for (int i = 0; i < results->n; i++) {
		if (results->all[i].chapter != chapter) {
			chapter = results->all[i].chapter;
			print_heading(out, results, chapter);
		}
		print_result(out, results, &results->all[i]);
	}
	print_goals(out, results);
	if (failed > 0)
		fprintf(out, "\nFAILED: the ledger did not hold in %d rounds\n", failed);
}
