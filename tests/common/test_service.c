#include "common/clock.h"
#include "common/service.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

struct config {
	char *secret;
	int level, format;
};

static const struct option table[] = {
    {"secret", OPT_STRING, offsetof(struct config, secret), NULL, "Hidden", OPT_SECRET, 0, 0, NULL,
	NULL},
    SERVICE_OPTIONS(offsetof(struct config, level), offsetof(struct config, format)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

/* One life of a service in a process of its own: a scene, its output and how it ended. */
typedef void scene(void);

struct life {
	pid_t pid;
	char *log;
};

static void live(scene *play, char **argv)
{
	struct config config = {0};
	int status, argc = 0;

	while (argv[argc])
		argc++;
	if (!service_start("umavez-test", "[options]", table, &config, argc, argv, &status))
		exit(status);
	option_dump(table, &config);
	play();
	option_done(table, &config);
	exit(service_status());
}

static struct life begin(scene *play, const char *const *args)
{
	static int n;
	struct life life = {
	    .log = text_format("%s/umavez-service-%d-%d", temp_root(), (int)getpid(), n++)};
	char *argv[10] = {(char *)"umavez-test"};

	for (int i = 0; args && args[i]; i++)
		argv[i + 1] = (char *)args[i];
	fflush(NULL);
	life.pid = fork();
	if (life.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_DFL); /* whatever we inherited */
		if (!freopen(life.log, "we", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
			_exit(99);
		setvbuf(stdout, NULL, _IOLBF, 0);
		live(play, argv);
	}
	CHECK(life.pid > 0);
	return life;
}

struct ending {
	pid_t pid;
	int status;
};

static bool has_ended(void *ctx)
{
	struct ending *e = ctx;

	return waitpid(e->pid, &e->status, WNOHANG) == e->pid;
}

/* Exit status, or 128 + signal; what it wrote is malloc'd. */
static int end(struct life *life, char **ret_text)
{
	struct ending e = {.pid = life->pid};

	if (!await(has_ended, &e, PATIENCE_MS)) {
		kill(life->pid, SIGKILL);
		waitpid(life->pid, &e.status, 0);
	}
	*ret_text = file_read(life->log, NULL);
	CHECK(*ret_text != NULL);
	unlink(life->log);
	free(life->log);
	return WIFEXITED(e.status) ? WEXITSTATUS(e.status) : 128 + WTERMSIG(e.status);
}

static void await_text(const struct life *life, const char *text)
{
	int64_t deadline_us = clock_mono_us() + PATIENCE_MS * INT64_C(1000);

	while (!file_has(life->log, text)) {
		CHECK(clock_mono_us() < deadline_us);
		sleep_ms(5);
	}
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void play_nothing(void)
{
}

static void usage(void)
{
	struct life life = begin(play_nothing, ARGS("--nosuch"));
	char *text;

	CHECK_INT(end(&life, &text), 2);
	CHECK_STR(text, "umavez-test: --nosuch: no such option (see --help)\n");
	free(text);

	life = begin(play_nothing, ARGS("--version"));
	CHECK_INT(end(&life, &text), 0);
	CHECK_STR(text, UMAVEZ_FAILPOINTS ? "umavez-test " UMAVEZ_VERSION " with crash points\n"
					  : "umavez-test " UMAVEZ_VERSION "\n");
	free(text);

	life = begin(play_nothing, ARGS("--help", "--nosuch"));
	CHECK_INT(end(&life, &text), 0);
	CHECK(strncmp(text, "Usage: umavez-test [options]\n", 29) == 0);
	free(text);

	setenv("UMAVEZ_FAILPOINTS", "nosuch=crash", 1);
	life = begin(play_nothing, NULL);
	CHECK_INT(end(&life, &text), 2);
	free(text);
	unsetenv("UMAVEZ_FAILPOINTS");
}

static void dump(void)
{
	struct life life = begin(play_nothing, ARGS("--secret=hunter2", "--log-format=json"));
	char *text;

	CHECK_INT(end(&life, &text), 0);
	CHECK(strstr(text, "\"service\":\"test\",\"msg\":\"configuration\",\"secret\":\"***\"") !=
	      NULL);
	CHECK(strstr(text, "hunter2") == NULL);
	free(text);
}

static void play_wait(void)
{
	struct pollfd pfd = {.fd = service_stop_fd(), .events = POLLIN};

	if (service_stopping() || poll(&pfd, 1, 0) != 0 || service_wait(10))
		exit(90);
	puts("waiting");
	if (!service_wait(60000) || !service_stopping() || poll(&pfd, 1, 0) != 1)
		exit(91);
	puts("stopping");
}

static void stops_on(int sig)
{
	struct life life = begin(play_wait, NULL);
	char *text;

	await_text(&life, "waiting\n");
	kill(life.pid, sig);
	CHECK_INT(end(&life, &text), 0);
	CHECK(strstr(text, "stopping\n") != NULL);
	free(text);
}

static void signals(void)
{
	stops_on(SIGTERM);
	stops_on(SIGINT);
}

static void play_deaf(void)
{
	service_wait(60000);
	puts("stopping");
	for (;;)
		pause();
}

static void second_signal(void)
{
	struct life life = begin(play_deaf, NULL);
	char *text;

	await_text(&life, "configuration");
	kill(life.pid, SIGTERM);
	await_text(&life, "stopping");
	kill(life.pid, SIGTERM);
	CHECK_INT(end(&life, &text), 1);
	free(text);
}

static void play_broken_pipe(void)
{
	int fds[2];

	if (pipe(fds) < 0)
		exit(90);
	close(fds[0]);
	if (write(fds[1], "x", 1) != -1)
		exit(91);
}

static void sigpipe_is_ignored(void)
{
	struct life life = begin(play_broken_pipe, NULL);
	char *text;

	CHECK_INT(end(&life, &text), 0);
	free(text);
}

static void *fail_thread(void *arg)
{
	struct err err = ERR_INIT;

	err_set(&err, ERR_MISMATCH, "older schema");
	service_fail(&err);
	return arg;
}

static void play_fail(void)
{
	struct err later = ERR_INIT;
	pthread_t thread;

	pthread_create(&thread, NULL, fail_thread, NULL);
	service_wait(60000);
	pthread_join(thread, NULL);
	err_set(&later, ERR_FATAL, "because of it");
	service_fail(&later);
}

static void first_failure_counts(void)
{
	struct life life = begin(play_fail, NULL);
	char *text;

	CHECK_INT(end(&life, &text), 3);
	CHECK(strstr(text, "level=error service=test msg=\"cannot go on\" kind=mismatch"
			   " error=\"older schema\"\n") != NULL);
	CHECK(strstr(text, "because of it") == NULL);
	free(text);
}

static void play_stop(void)
{
	service_stop();
	service_stop();
	if (!service_wait(60000))
		exit(90);
}

static void stopped_from_within(void)
{
	struct life life = begin(play_stop, NULL);
	char *text;

	CHECK_INT(end(&life, &text), 0);
	free(text);
}

static void instances(void)
{
	char *a = service_instance(), *b = service_instance();
	char pid[24];

	snprintf(pid, sizeof(pid), ":%d:", (int)getpid());
	CHECK(strcmp(a, b) != 0);
	CHECK(strstr(a, pid) != NULL);
	CHECK_INT(strlen(strrchr(a, ':')), 9);
	free(a);
	free(b);
}

static const struct check checks[] = {
    {"usage", usage},
    {"dump", dump},
    {"SIGTERM and SIGINT", signals},
    {"a second signal", second_signal},
    {"SIGPIPE is ignored", sigpipe_is_ignored},
    {"the first failure counts", first_failure_counts},
    {"stopped from within", stopped_from_within},
    {"instances", instances},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common service", checks, argc, argv);
}
