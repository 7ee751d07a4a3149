/*
 * Everything fails at random, from a seed: then everything is healed, and the whole history is
 * checked.
 */
#include "tests/chaos/faults.h"
#include "tests/chaos/report.h"
#include "tests/chaos/scene.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEAN_MS 300   /* between two faults */
#define PER_SECOND 60 /* deliveries */
#define MAX_JOBS 16
#define STUCK_MS 600000 /* for a run, beyond its time */

static const char usage[] =
    "usage: chaos_run [--seconds N] [--seed N | --seeds A..B [--jobs N]] [--report FILE] [--plan]\n"
    "  --seconds N    how long things fail (60)\n"
    "  --seed N       the same faults, in the same order, for the same notifications ($SEED)\n"
    "  --seeds A..B   one run for each\n"
    "  --jobs N       so many runs at a time (1)\n"
    "  --report FILE  append a row for each run to the table in this file\n"
    "  --plan         print what would fail when, and do nothing\n";

struct options {
	int64_t for_ms;
	uint64_t first, last; /* seeds; both 0: a run with check_seed() */
	int jobs;
	const char *report;
	bool plan;
};

static void say_step(const struct scene *s, const struct step *step)
{
	const struct fault *f = step->fault;
	char target[48] = "";

	if (f->takes == TAKES_MEMBER)
		snprintf(target, sizeof(target), ": %s", s->members[step->target].name);
	else if (f->takes == TAKES_PROXY)
		snprintf(target, sizeof(target), ": %s and %s", s->members[step->target / 2].name,
		    step->target % 2 ? "Redis" : "PostgreSQL");
	else if (f->targets > 1)
		snprintf(target, sizeof(target), ": %u", step->target);
	if (step->ends)
		scene_say(s, "    end of %s%s", f->name, target);
	else if (f->end != NULL)
		scene_say(s, "%s%s, for %" PRId64 " ms", f->name, target, step->for_ms);
	else
		scene_say(s, "%s%s", f->name, target);
}

static void wait_until(const struct scene *s, int64_t at_ms)
{
	int64_t left_ms = s->started_ms + at_ms - now_ms();

	if (left_ms > 0)
		sleep_ms(left_ms);
}

static void make_chaos(struct scene *s, uint64_t seed, int64_t for_ms)
{
	struct schedule schedule;

	schedule_make(faults, seed, for_ms, MEAN_MS, &schedule);
	for (size_t i = 0; i < schedule.n; i++) {
		const struct step *step = &schedule.steps[i];

		wait_until(s, step->at_ms);
		say_step(s, step);
		(step->ends ? step->fault->end : step->fault->begin)(s, step);
		scene_watch(s);
	}
	wait_until(s, for_ms);
	schedule_done(&schedule);
}

static int run(const struct options *o)
{
	uint64_t seed = check_seed();
	struct ledger ledger;
	int64_t violations;
	struct scene s;

	printf("seed %" PRIu64 ", %" PRId64 " s; the same again: chaos_run --seed %" PRIu64
	       " --seconds %" PRId64 "\n",
	    seed, o->for_ms / 1000, seed, o->for_ms / 1000);
	scene_open(&s, seed, o->for_ms, PER_SECOND);
	make_chaos(&s, seed, o->for_ms);
	scene_settle(&s);
	scene_judge(&s, &ledger);
	ledger_print(stdout, &ledger);
	violations = s.counts.violations;
	if (o->report != NULL)
		report_row(o->report, seed, o->for_ms, &s, &ledger);
	if (violations > 0)
		printf("seed %" PRIu64 ": %" PRId64 " violations; data and logs: %s\n", seed,
		    violations, world_dir(s.stack.world));
	else
		printf("seed %" PRIu64 ": no violation\n", seed);
	scene_close(&s, violations > 0);
	return violations > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int print_plan(const struct options *o)
{
	struct schedule schedule;

	schedule_make(faults, check_seed(), o->for_ms, MEAN_MS, &schedule);
	for (size_t i = 0; i < schedule.n; i++) {
		const struct step *step = &schedule.steps[i];

		printf("%7" PRId64 " ms  %s%s %u\n", step->at_ms, step->ends ? "end of " : "",
		    step->fault->name, step->target);
	}
	schedule_done(&schedule);
	return EXIT_SUCCESS;
}

/* ------------------------------------------------------------------ many seeds */

struct job {
	uint64_t seed;
	struct proc *proc; /* NULL: free */
	char *log;
	int64_t until_ms;
};

static void start_job(const struct options *o, struct job *job, uint64_t seed)
{
	char *number = text_format("%" PRIu64, seed);
	char *seconds = text_format("%" PRId64, o->for_ms / 1000);
	const char *const argv[] = {"/proc/self/exe", "--seed", number, "--seconds", seconds,
	    o->report ? "--report" : NULL, o->report, NULL};
	struct proc_spec spec = {.argv = argv};

	job->log = text_format("%s/umavez-chaos-%s.log", temp_root(), number);
	spec.log = job->log;
	unlink(job->log);
	job->seed = seed;
	job->proc = proc_new(&spec);
	job->until_ms = now_ms() + o->for_ms + STUCK_MS;
	proc_start(job->proc);
	free(number);
	free(seconds);
}

/* True if it had ended. A run that is stuck is a violation, too. */
static bool finish_job(struct job *job, int *ret_failed)
{
	int status = proc_wait(job->proc, 0);

	if (status < 0 && now_ms() < job->until_ms)
		return false;
	printf("seed %" PRIu64 ": %s\n", job->seed, status == 0 ? "no violation" : job->log);
	fflush(stdout);
	if (status == 0)
		unlink(job->log);
	else
		++*ret_failed;
	proc_free(job->proc);
	free(job->log);
	job->proc = NULL;
	return true;
}

static int run_all(const struct options *o)
{
	struct job jobs[MAX_JOBS] = {{.proc = NULL}};
	uint64_t next = o->first;
	int running = 0, failed = 0;

	while (next <= o->last || running > 0) {
		for (int i = 0; i < o->jobs; i++) {
			if (jobs[i].proc == NULL && next <= o->last) {
				start_job(o, &jobs[i], next++);
				running++;
			}
			if (jobs[i].proc != NULL && finish_job(&jobs[i], &failed))
				running--;
		}
		sleep_ms(50);
	}
	printf("%" PRIu64 " seeds, %d with violations\n", o->last - o->first + 1, failed);
	return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ------------------------------------------------------------------ options */

static void fail_usage(void)
{
	fputs(usage, stderr);
	exit(2);
}

static uint64_t number(const char *text, char end, const char **ret_rest)
{
	char *rest;
	uint64_t n = strtoull(text, &rest, 10);

	if (rest == text || *rest != end)
		fail_usage();
	if (ret_rest != NULL)
		*ret_rest = rest;
	return n;
}

static void read_seeds(struct options *o, const char *text)
{
	const char *rest;

	o->first = number(text, '.', &rest);
	if (strncmp(rest, "..", 2) != 0)
		fail_usage();
	o->last = number(rest + 2, '\0', NULL);
}

static void read_options(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {{"seconds", required_argument, NULL, 't'},
	    {"seed", required_argument, NULL, 's'}, {"seeds", required_argument, NULL, 'S'},
	    {"jobs", required_argument, NULL, 'j'}, {"report", required_argument, NULL, 'r'},
	    {"plan", no_argument, NULL, 'p'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 't')
			o->for_ms = 1000 * (int64_t)number(optarg, '\0', NULL);
		else if (option == 's')
			setenv("SEED", optarg, 1);
		else if (option == 'S')
			read_seeds(o, optarg);
		else if (option == 'j')
			o->jobs = (int)number(optarg, '\0', NULL);
		else if (option == 'r')
			o->report = optarg;
		else if (option == 'p')
			o->plan = true;
		else if (option == 'h')
			exit(fputs(usage, stdout) < 0);
		else
			fail_usage();
	}
	if (optind < argc || o->jobs < 1 || o->jobs > MAX_JOBS || o->for_ms < 1000)
		fail_usage();
}

int main(int argc, char **argv)
{
	struct options o = {.for_ms = 60000, .jobs = 1};

	read_options(&o, argc, argv);
	if (o.plan)
		return print_plan(&o);
	if (o.last > 0)
		return run_all(&o);
	setenv("KEEP", "1", 1); /* until it is known that nobody will need it */
	return run(&o);
}
