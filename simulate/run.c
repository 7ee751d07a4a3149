#include "simulate/run.h"

#include "simulate/dead_letters.h"
#include "simulate/report.h"
#include "tests/support/pause.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define POLL_MS 5
#define SETTLED_POLL_MS 50

/* A load is as slow as its deaths need, so that work goes on between them. */
#define DEATH_MS 500

/* A crash point that has not been reached a while after everything was settled never will be. */
#define REACHED_MS 5000

struct run {
	const struct config *config;
	const struct plan *plan;
	struct progress progress;
	struct stack stack;
	struct load *load;
	size_t next_kill;
	int64_t deadline_ms;
};

static void start_load(struct run *run, uint64_t seed)
{
	const char *const urls[] = {proc_url(run->stack.services[PRODUCER]), NULL};
	int64_t deaths = (int64_t)(run->plan->n_kills + run->plan->n_crashes);
	struct load_options options = {.seed = seed,
	    .notifications = (int)run->config->notifications,
	    .duplicates = run->config->duplicates,
	    .reorder = run->config->reorder,
	    .stores = run->config->store_mask,
	    .threads = 8};

	if (deaths > 0)
		options.per_second =
		    (int)((double)options.notifications * (1 + options.duplicates) * 1000 /
			  (double)((deaths + 1) * DEATH_MS)) +
		    1;
	run->load = load_new(&options, world_signer(run->stack.world));
	progress_say(&run->progress, "%d signed notifications, %d deliveries (--seed %" PRIu64 ")",
	    load_count(run->load), load_deliveries(run->load), seed);
	run->deadline_ms = now_ms() + run->config->timeout_ms;
	load_start(run->load, urls);
}

static void kill_next(struct run *run)
{
	const struct kill *kill = &run->plan->kills[run->next_kill++];

	progress_say(&run->progress, "%5d of %d  kill -9 %s", load_done(run->load),
	    load_deliveries(run->load), service_word(kill->service));
	stack_kill(&run->stack, kill);
}

static bool is_kill_due(const struct run *run)
{
	return run->next_kill < run->plan->n_kills &&
	       load_done(run->load) >=
		   run->plan->kills[run->next_kill].part * load_deliveries(run->load);
}

static bool is_over(const struct run *run)
{
	return now_ms() >= run->deadline_ms;
}

static int send_all(struct run *run, struct err *err)
{
	while (load_done(run->load) < load_deliveries(run->load) ||
	       run->next_kill < run->plan->n_kills) {
		if (is_over(run))
			return 0;
		if (stack_watch(&run->stack, err) < 0)
			return -1;
		if (is_kill_due(run))
			kill_next(run);
		else
			sleep_ms(POLL_MS);
	}
	progress_say(&run->progress, "all %d deliveries were answered", load_deliveries(run->load));
	return 0;
}

/* Settled is what has its effect or is a dead letter. */
static int settle_all(struct run *run, bool *ret_settled, struct err *err)
{
	while (!is_over(run)) {
		if (stack_watch(&run->stack, err) < 0)
			return -1;
		*ret_settled = dead_letters_are_the_rest(run->stack.world);
		if (*ret_settled)
			return 0;
		sleep_ms(SETTLED_POLL_MS);
	}
	return 0;
}

static int await_crashes(struct run *run, struct err *err)
{
	int64_t until_ms = now_ms() + REACHED_MS;

	while (stack_pending(&run->stack) != NULL && now_ms() < until_ms) {
		if (stack_watch(&run->stack, err) < 0)
			return -1;
		sleep_ms(POLL_MS);
	}
	return 0;
}

/* Until all is answered and settled and every crash has happened, or the time is up. */
static int play(struct run *run, bool *ret_finished, struct err *err)
{
	bool settled = false;

	if (send_all(run, err) < 0)
		return -1;
	witness_answers(run->stack.world, run->load);
	if (settle_all(run, &settled, err) < 0)
		return -1;
	if (settled && await_crashes(run, err) < 0)
		return -1;
	/* What died late may have had something to do. */
	if (settled && settle_all(run, ret_finished, err) < 0)
		return -1;
	if (*ret_finished)
		progress_say(&run->progress, "everything is applied or a dead letter");
	else
		stack_complain(&run->stack);
	return 0;
}

static void show_trace(struct run *run)
{
	char *id = world_text(run->stack.world,
	    "SELECT n.notification_id FROM intake.notification AS n "
	    "JOIN effects.inbox AS i ON i.source = n.store AND i.message_id = n.notification_id "
	    "WHERE n.store_purchase_id IS NOT NULL ORDER BY i.processed_at - n.received_at DESC");
	const char *const args[] = {"trace", id, NULL};
	char *out = NULL;

	if (id == NULL)
		return;
	printf("\nThe notification that waited longest\n$ umavez trace %s\n", id);
	fflush(stdout);
	world_run(run->stack.world, &out, "umavez", args);
	printf("%s\n", out);
	free(out);
	free(id);
}

static void show(struct run *run, uint64_t seed, bool finished, bool *ret_good)
{
	struct report report = {.seed = seed, .finished = finished};

	report_read(&run->stack, run->config, run->load, &report);
	if (run->config->trace)
		show_trace(run);
	if (run->config->json)
		report_print_json(&report, &run->stack);
	else
		report_print(&report, &run->stack);
	*ret_good = report_is_good(&report, &run->stack);
	report_done(&report);
}

int simulation_run(const struct config *config, const struct plan *plan, uint64_t seed,
    const char *bin_dir, bool *ret_good, struct err *err)
{
	struct run run = {.config = config, .plan = plan};
	bool finished = false;
	int rc = -1;

	progress_init(&run.progress, config->quiet);
	if (stack_open(&run.stack, config, plan, &run.progress, bin_dir, err) < 0)
		goto done;
	if (stack_start(&run.stack, err) < 0)
		goto done;
	progress_say(&run.progress, "producer at %s, relay and consumer are up",
	    proc_url(run.stack.services[PRODUCER]));
	start_load(&run, seed);
	if (play(&run, &finished, err) < 0)
		goto done;
	show(&run, seed, finished, ret_good);
	rc = 0;
done:
	load_free(run.load);
	stack_close(&run.stack);
	return rc;
}
