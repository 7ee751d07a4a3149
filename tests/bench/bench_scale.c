/*
 * bench_scale - 1, 2 and 4 of each service in network namespaces of their own; see
 * tests/bench/scale.
 */
#include "common/clock.h"
#include "common/option.h"
#include "tests/bench/account.h"
#include "tests/bench/fleet.h"
#include "tests/bench/netns.h"
#include "tests/bench/takeover.h"
#include "tests/support/die.h"
#include "tests/support/invariants.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 16
#define DEADLINE_MS 1800000

static const int sizes[] = {1, 2, 4};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct scale_options {
	int64_t notifications, per_second;
};

#define AT(member) offsetof(struct scale_options, member)
static const struct option options_table[] = {
    {"notifications", OPT_INT, AT(notifications), "10000",
	"How many arrive as fast as they are answered, to see how work spreads", 0, 100, 10000000,
	NULL, NULL},
    {"per-second", OPT_INT, AT(per_second), "100", "Load while one is killed", 0, 1, 100000, NULL,
	NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

struct stage {
	struct fleet *fleet;
	const struct scale_options *options;
	struct account account;
	uint64_t seed;            /* of its next load: no two loads are about the same purchases */
	double received, applied; /* a second */
};

static double seconds_since(int64_t began_us)
{
	return (double)(clock_mono_us() - began_us) / 1e6;
}

static void measure(struct stage *s)
{
	const struct load_options options = {
	    .seed = s->seed++, .notifications = (int)s->options->notifications, .threads = THREADS};
	struct world *w = s->fleet->g->w;
	struct load *l = load_new(&options, world_signer(w));
	const char *urls[FLEET_MAX + 1];
	int64_t began_us = clock_mono_us();

	fleet_urls(s->fleet, urls);
	load_start(l, urls);
	if (!load_wait(l, DEADLINE_MS))
		die("the load is not answered");
	s->received = (double)options.notifications / seconds_since(began_us);
	if (!invariants_await(w, DEADLINE_MS))
		die("not everything is applied");
	s->applied = (double)options.notifications / seconds_since(began_us);
	account_add(&s->account, w, l);
	load_free(l);
}

static void print_spread(struct stage *s)
{
	struct fleet *f = s->fleet;

	printf("\n%d of each: %.0f notifications received and %.0f applied a second\n", f->n,
	    s->received, s->applied);
	printf("%-16s%-16s%-14s%10s\n", "", "address", "shards", "work");
	for (int service = 0; service < FLEET_SERVICES; service++)
		for (int i = 0; i < f->n; i++) {
			char *shards = fleet_shards(f, (enum fleet_service)service, i);
			double share = fleet_work(f, (enum fleet_service)service, i) /
				       (double)s->options->notifications;

			printf("%-12s%-4d%-16s%-14s%9.0f%%\n", fleet_names[service], i + 1,
			    f->places[service][i].address, shards, share * 100);
			free(shards);
		}
}

static void print_ms(double ms)
{
	if (isnan(ms))
		printf("%16s", "");
	else
		printf("%16.0f", ms);
}

/* How many were late. */
static int kill_each(struct stage *s)
{
	int late = 0;

	printf("%-14s%16s%16s%16s%16s\n", "killed", "taken over, ms", "longest wait",
	    "of the others", "sent again");
	for (int service = 0; service < FLEET_SERVICES; service++) {
		struct takeover t;
		bool in_time;

		takeover_run(s->fleet, (enum fleet_service)service, (int)s->options->per_second,
		    s->seed++, &s->account, &t);
		in_time = takeover_in_time(&t);
		printf("%-12s 1", fleet_names[service]);
		print_ms(t.taken_ms);
		print_ms(t.its_ms);
		print_ms(t.others_ms);
		printf("%16" PRId64 "  %s\n", t.unanswered, in_time ? "" : "LATE");
		fflush(stdout);
		late += !in_time;
	}
	return late;
}

/* How much of it was wrong. */
static int run_stage(struct fleet *f, const struct scale_options *options, int n)
{
	struct stage s = {.fleet = f, .options = options, .seed = (uint64_t)n * 100};
	int wrong = 0;

	ground_reset(f->g);
	fleet_start(f, n);
	measure(&s);
	print_spread(&s);
	/* Alone it has nobody who could take over. */
	if (n > 1)
		wrong += kill_each(&s);
	wrong += account_judge(&s.account, f->g->w);
	fleet_stop(f);
	fflush(stdout);
	return wrong;
}

static int run(const struct scale_options *options)
{
	const struct bench_options bench = {.scale = 1};
	struct ground *g;
	struct fleet f;
	int wrong = 0;

	netns_enter();
	g = ground_open(&bench);
	fleet_open(&f, g);
	printf("%d shards; a lease is %d ms\n", GROUND_SHARDS, FLEET_LEASE_MS);
	for (size_t i = 0; i < SIZES; i++)
		wrong += run_stage(&f, options, sizes[i]);
	ground_close(g);
	printf("\n%s\n",
	    wrong > 0 ? "FAILED"
		      : "The ledger holds, and nobody waited longer than a takeover may take.");
	return wrong > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct scale_options options = {.notifications = 0};
	enum option_action action;
	struct err err = ERR_INIT;
	int status = EXIT_SUCCESS;

	signal(SIGPIPE, SIG_IGN);
	if (option_parse(options_table, &options, argc, argv, NULL, &action, &err) < 0) {
		fprintf(stderr, "bench_scale: %s\n", err.message);
		return err_exit_status(&err);
	}
	if (action == OPTION_HELP)
		option_help("tests/bench/scale",
		    "[OPTION]...\n\nSee the comment in tests/bench/scale.\n", options_table);
	else
		status = run(&options);
	option_done(options_table, &options);
	return status;
}
