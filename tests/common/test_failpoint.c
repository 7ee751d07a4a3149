#include "common/clock.h"
#include "common/failpoint.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int init(const char *spec, struct err *err)
{
	setenv("UMAVEZ_FAILPOINTS", spec, 1);
	return failpoint_init(err);
}

static void names(void)
{
	int n = 0;

	while (failpoint_names[n])
		n++;
	CHECK_INT(n, 22);
}

#if UMAVEZ_FAILPOINTS
static void init_ok(const char *spec)
{
	struct err err = ERR_INIT;

	if (init(spec, &err) < 0)
		CU_FAIL_FATAL(err.message);
}

static void malformed(void)
{
	static const char *const specs[] = {"nosuch.point=crash", "relay.after_tick",
	    "relay.after_tick=", "relay.after_tick=explode", "relay.after_tick=crash@0",
	    "relay.after_tick=crash@", "relay.after_tick=crash@-1", "relay.after_tick=crash@3x",
	    "relay.after_tick=crash%2", "relay.after_tick=crash%", "relay.after_tick=crash%nan",
	    "relay.after_tick=crash%-1", "relay.after_tick=sleep", "relay.after_tick=sleep()",
	    "relay.after_tick=sleep(1", "relay.after_tick=sleep(x)", "relay.after_tick=crash ",
	    "=crash", "relay.after_tick=error;bad=crash"};

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct err err = ERR_INIT;

		if (init(specs[i], &err) == 0)
			CU_FAIL_FATAL(specs[i]);
		CHECK_INT(err.kind, ERR_USAGE);
	}
	setenv("UMAVEZ_SEED", "x", 1);
	struct err err = ERR_INIT;
	CHECK_INT(init("", &err), -1);
	unsetenv("UMAVEZ_SEED");
}

static void nothing_by_default(void)
{
	struct err err = ERR_INIT;

	init_ok("");
	CHECK_INT(failpoint_hit("relay.after_append", &err), 0);
	CHECK_INT(err.kind, ERR_NONE);
}

static void error_action(void)
{
	struct err err = ERR_INIT;

	init_ok("relay.before_append=error");
	CHECK_INT(FAILPOINT_ERR("relay.before_append", &err), -1);
	CHECK_INT(failpoint_hit("relay.before_append", &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_INT(failpoint_hit("relay.before_append", NULL), -1);
	CHECK_INT(failpoint_hit("relay.after_append", &err), 0);
}

static void nth_hit(void)
{
	struct err err = ERR_INIT;
	int failed = 0;

	init_ok("relay.mid_tick=error@3;producer.after_verify=error@1");
	for (int i = 1; i <= 6; i++) {
		int rc = failpoint_hit("relay.mid_tick", &err);
		CHECK_INT(rc, i == 3 ? -1 : 0);
		failed += rc < 0;
	}
	CHECK_INT(failed, 1);
	CHECK_INT(failpoint_hit("producer.after_verify", &err), -1);
}

static uint64_t draw_pattern(const char *seed)
{
	uint64_t pattern = 0;

	setenv("UMAVEZ_SEED", seed, 1);
	init_ok("consumer.after_read=error%0.5");
	for (int i = 0; i < 64; i++)
		pattern = pattern << 1 | (failpoint_hit("consumer.after_read", NULL) < 0);
	unsetenv("UMAVEZ_SEED");
	return pattern;
}

static void probability_repeats_under_a_seed(void)
{
	uint64_t a = draw_pattern("7");

	CHECK(a == draw_pattern("7"));
	CHECK(a != draw_pattern("8"));
	CHECK(a != 0 && a != UINT64_MAX);
	init_ok("consumer.after_read=error%0");
	CHECK_INT(failpoint_hit("consumer.after_read", NULL), 0);
	init_ok("consumer.after_read=error%1");
	CHECK_INT(failpoint_hit("consumer.after_read", NULL), -1);
}

static void sleeps(void)
{
	int64_t began = clock_mono_us();

	init_ok("relay.before_trim=sleep(50)");
	CHECK_INT(failpoint_hit("relay.before_trim", NULL), 0);
	CHECK(clock_mono_us() - began >= 50000);
}

/* How a child ends that hits the point once. */
static int child_status(const char *spec)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct err err = ERR_INIT;
		if (init(spec, &err) == 0)
			failpoint_hit("consumer.before_commit", NULL);
		_exit(7);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status;
}

static void crash_and_exit(void)
{
	int status = child_status("consumer.before_commit=crash");

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	status = child_status("consumer.before_commit=exit");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	status = child_status("consumer.before_commit=crash@2");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void hits_are_logged(void)
{
	char *path = text_format("%s/umavez-failpoints-%d", temp_root(), (int)getpid());

	setenv("UMAVEZ_FAILPOINT_LOG", path, 1);
	child_status("consumer.before_commit=crash");
	child_status("");
	char *text = file_read(path, NULL);
	CHECK_STR(text, "consumer.before_commit\nconsumer.before_commit\n");
	free(text);
	unsetenv("UMAVEZ_FAILPOINT_LOG");
	unlink(path);
	free(path);
}

static void *hit_many(void *failures)
{
	for (int i = 0; i < 1000; i++)
		*(int *)failures += failpoint_hit("producer.before_reply", NULL) < 0;
	return NULL;
}

static void one_of_many_threads(void)
{
	pthread_t threads[4];
	int failures[4] = {0}, total = 0;

	init_ok("producer.before_reply=error@2500");
	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, hit_many, &failures[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		total += failures[i];
	}
	CHECK_INT(total, 1);
}

#else
static void refused_without_them(void)
{
	struct err err = ERR_INIT;

	CHECK_INT(init("relay.after_append=crash", &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK_INT(init("", &err), 0);
	FAILPOINT("relay.after_append");
	CHECK_INT(FAILPOINT_ERR("relay.after_append", &err), 0);
}
#endif

static const struct check checks[] = {
    {"names", names},
#if UMAVEZ_FAILPOINTS
    {"malformed", malformed},
    {"nothing by default", nothing_by_default},
    {"error", error_action},
    {"the n-th hit", nth_hit},
    {"probability repeats under a seed", probability_repeats_under_a_seed},
    {"sleep", sleeps},
    {"crash and exit", crash_and_exit},
    {"hits are logged", hits_are_logged},
    {"one hit of many threads", one_of_many_threads},
#else
    {"refused where there are none", refused_without_them},
#endif
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common failpoint", checks, argc, argv);
}
