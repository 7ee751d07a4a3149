/*
 * bench_run - all contestants, in rounds; see tests/bench/run.
 */
#include "tests/bench/contestant.h"
#include "tests/bench/goals.h"
#include "tests/bench/json_report.h"
#include "tests/bench/machine.h"
#include "tests/bench/options.h"
#include "tests/bench/program.h"
#include "tests/bench/results.h"
#include "tests/bench/svg.h"
#include "tests/bench/table.h"
#include "tests/support/die.h"
#include "tests/support/pause.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 5
#define QUICK_ROUNDS 3

static const struct chapter *const chapters[] = {&producer_chapter, &relay_chapter,
    &consumer_chapter, &latency_chapter, &idle_chapter, &start_chapter};

static void tell(const struct heat *h, int round, int64_t began_ms, const struct outcome *o)
{
	fprintf(stderr, "  %d %-40s", round, h->contestant->name);
	for (int f = 0; f < FIGURES; f++)
		if (!isnan(o->figures[f]))
			fprintf(stderr, " %s=%.6g", figure_names[f], o->figures[f]);
	fprintf(stderr, " (%.1f s)%s\n", (double)(now_ms() - began_ms) / 1000,
	    o->failed ? " FAILED" : "");
}

static int64_t amount(const struct bench_options *o, const struct contestant *c)
{
	int64_t n = (int64_t)((double)(o->quick ? c->quick : c->full) * o->scale);

	return n > 100 ? n : 100;
}

static void run_heat(struct ground *g, void *state, int round, struct result *result)
{
	const struct contestant *c = result->contestant;
	const struct heat h = {g, c, state, amount(g->options, c)};
	struct outcome *outcome = result_round(result);
	int64_t began_ms = now_ms();

	if (c->program != NULL) {
		program_setup(&h);
		program_measure(&h, outcome);
	} else {
		if (c->setup != NULL)
			c->setup(&h);
		c->measure(&h, outcome);
	}
	ground_stop_all(g);
	tell(&h, round, began_ms, outcome);
}

static int rounds_of(const struct bench_options *o)
{
	if (o->rounds > 0)
		return (int)o->rounds;
	return o->quick ? QUICK_ROUNDS : ROUNDS;
}

static void run_chapter(struct ground *g, const struct chapter *chapter, struct results *results)
{
	int first = results->n;
	void *state;

	for (size_t i = 0; i < chapter->n; i++) {
		const struct contestant *c = &chapter->contestants[i];
		struct result *result;

		if (!bench_wants(g->options, chapter->name, c->name) ||
		    (g->options->smoke && !goals_smoke_needs(c->name)))
			continue;
		result = results_add(results, chapter, c);
		if (c->program != NULL)
			result->obstacle = program_obstacle(g, c);
	}
	if (results->n == first)
		return;
	state = chapter->open ? chapter->open(g) : NULL;
	for (int round = 1; round <= rounds_of(g->options); round++)
		for (int i = first; i < results->n; i++)
			if (results->all[i].obstacle == NULL)
				run_heat(g, state, round, &results->all[i]);
	if (chapter->close)
		chapter->close(state);
}

static void report(struct ground *g, const struct results *results)
{
	const struct bench_options *o = g->options;
	struct machine machine;

	machine_look(g, &machine);
	machine_print(stdout, &machine);
	table_print(stdout, results);
	if (o->json != NULL)
		json_report_write(o->json, &machine, results);
	if (o->svg != NULL)
		svg_write(o->svg, results);
}

static int run(const struct bench_options *options)
{
	struct ground *g = ground_open(options);
	struct results *results = results_new();
	int64_t began_ms = now_ms();
	int failed;

	for (size_t i = 0; i < sizeof(chapters) / sizeof(chapters[0]); i++)
		run_chapter(g, chapters[i], results);
	if (results->n == 0)
		die("--only: there is no such chapter or contestant");
	report(g, results);
	printf("\nIt took %" PRId64 " s.\n", (now_ms() - began_ms) / 1000);
	failed = results_failed(results);
	if (options->smoke)
		failed += goals_far_missed(results);
	results_free(results);
	ground_close(g);
	return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct bench_options options = {.quick = false};
	enum option_action action;
	struct err err = ERR_INIT;
	int status = EXIT_SUCCESS;

	signal(SIGPIPE, SIG_IGN);
	if (option_parse(bench_options_table, &options, argc, argv, NULL, &action, &err) < 0) {
		fprintf(stderr, "bench_run: %s\n", err.message);
		return err_exit_status(&err);
	}
	if (action == OPTION_HELP)
		option_help("tests/bench/run", bench_usage, bench_options_table);
	else
		status = run(&options);
	option_done(bench_options_table, &options);
	return status;
}
