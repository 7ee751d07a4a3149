/*
 * main.c - umavez-simulate: the user's own crash test, run by `umavez simulate`.
 */
#include "common/clock.h"
#include "common/failpoint.h"
#include "common/memory.h"
#include "simulate/run.h"
#include "simulate/supervise.h"
#include "tests/support/programs.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char program[] = "umavez simulate";

static int fail(const struct err *err)
{
	fprintf(stderr, "%s: %s\n", program, err->message);
	return err_exit_status(err);
}

/* Short enough to be typed again. */
static uint64_t draw_seed(void)
{
	struct rng rng;

	rng_seed_random(&rng);
	return 1 + rng_next(&rng) % 999999999;
}

/* The services of the same build are beside this program. malloc'd. */
static char *own_directory(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	return mem_strdup(dirname(path));
}

/* What `program --version` says. */
static bool says_crash_points(const char *path)
{
	char *command = mem_printf("'%s' --version", path), line[200] = "";
	FILE *out = popen(command, "re");

	if (out && !fgets(line, sizeof(line), out))
		line[0] = '\0';
	if (out)
		pclose(out);
	free(command);
	return strstr(line, FAILPOINT_MARK_WITH) != NULL;
}

static int check_program(const char *dir, const char *name, bool must_crash, struct err *err)
{
	char *path = mem_printf("%s/%s", dir, name);
	int rc = 0;

	if (access(path, X_OK) < 0)
		rc = err_set(err, ERR_USAGE, "%s: %s", path, strerror(errno));
	else if (must_crash && !says_crash_points(path))
		rc = err_set(err, ERR_USAGE,
		    "--crash: %s has no crash points (build with -DUMAVEZ_FAILPOINTS=ON; --kill "
		    "and "
		    "--kill-random work with every build)",
		    path);
	free(path);
	return rc;
}

static int check_programs(const char *dir, const struct plan *plan, struct err *err)
{
	const char *missing = programs_missing();

	if (missing)
		return err_set(err, ERR_USAGE, "%s", missing);
	if (check_program(dir, "umavez", false, err) < 0)
		return -1;
	for (int i = 0; i < SERVICES; i++) {
		char name[40];

		snprintf(name, sizeof(name), "umavez-%s", service_word((enum service)i));
		if (check_program(dir, name, plan->n_crashes > 0, err) < 0)
			return -1;
	}
	return 0;
}

struct work {
	const struct config *config;
	const struct plan *plan;
	uint64_t seed;
	const char *bin_dir;
};

static int work(void *ctx)
{
	const struct work *w = ctx;
	struct err err = ERR_INIT;
	bool good = false;

	signal(SIGPIPE, SIG_IGN);
	if (simulation_run(w->config, w->plan, w->seed, w->bin_dir, &good, &err) < 0)
		return fail(&err);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "%s: cannot write: %s\n", program, strerror(errno));
		return EXIT_FAILURE;
	}
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* What the world reads: the seed of the services' own dice, and whether to clean up. */
static void set_environment(const struct config *config, uint64_t seed)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, seed);
	setenv("SEED", text, 1);
	setenv("KEEP", config->keep ? "1" : "0", 1);
}

static int run(struct config *config)
{
	struct plan plan = {.n_kills = 0};
	struct err err = ERR_INIT;
	struct work w = {
	    config, &plan, config->seed > 0 ? (uint64_t)config->seed : draw_seed(), NULL};
	char *bin_dir = own_directory();
	int status = EXIT_FAILURE;

	w.bin_dir = bin_dir;
	if (config_check(config, &err) < 0 || plan_make(config, w.seed, &plan, &err) < 0 ||
	    check_programs(bin_dir, &plan, &err) < 0)
		goto done;
	set_environment(config, w.seed);
	if (supervise(work, &w, &status, &err) < 0)
		goto done;
done:
	if (err.kind != ERR_NONE)
		status = fail(&err);
	plan_done(&plan);
	free(bin_dir);
	return status;
}

int main(int argc, char **argv)
{
	struct config config = {.notifications = 0};
	enum option_action action;
	struct err err = ERR_INIT;
	int status = EXIT_SUCCESS;

	if (option_parse(config_options, &config, argc, argv, NULL, &action, &err) < 0)
		return fail(&err);
	if (action == OPTION_HELP)
		option_help(program, config_usage, config_options);
	else if (action == OPTION_VERSION)
		puts("umavez-simulate " UMAVEZ_VERSION);
	else
		status = run(&config);
	option_done(config_options, &config);
	return status;
}
