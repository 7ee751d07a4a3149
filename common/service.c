#include "common/service.h"

#include "common/clock.h"
#include "common/failpoint.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/notify.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The process itself, of which there is one. */
static struct {
	atomic_bool stopping;
	int stop_fd, signal_fd, quit_fd;
	pthread_t thread;
	pthread_mutex_t lock; /* failure */
	struct err failure;
	const char *program;
} process = {.stop_fd = -1, .signal_fd = -1, .quit_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static void raise_event(int fd)
{
	uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	(void)n; /* a full counter is readable too */
}

/* The first signal stops the service, a second one does not wait for it. */
static void *read_signals(void *arg)
{
	struct pollfd pfds[] = {
	    {.fd = process.signal_fd, .events = POLLIN}, {.fd = process.quit_fd, .events = POLLIN}};
	struct signalfd_siginfo info;

	(void)arg;
	for (int seen = 0;;) {
		if (poll(pfds, 2, -1) < 0)
			continue;
		if (pfds[1].revents)
			return NULL;
		if (read(process.signal_fd, &info, sizeof(info)) != sizeof(info))
			continue;
		if (++seen > 1)
			_exit(1);
		service_stop();
	}
}

static void join_thread(void)
{
	raise_event(process.quit_fd);
	pthread_join(process.thread, NULL);
	close(process.signal_fd);
	close(process.quit_fd);
	close(process.stop_fd);
}

static int start_signals(struct err *err)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	process.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	process.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	process.quit_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (process.signal_fd < 0 || process.stop_fd < 0 || process.quit_fd < 0)
		return err_set(err, ERR_FATAL, "signals: %s", strerror(errno));
	int rc = pthread_create(&process.thread, NULL, read_signals, NULL);
	if (rc != 0)
		return err_set(err, ERR_FATAL, "signals: %s", strerror(rc));
	atexit(join_thread);
	return 0;
}

/* "umavez-relay" logs as "relay". */
static const char *service_name(const char *program)
{
	static const char prefix[] = "umavez-";

	return strncmp(program, prefix, strlen(prefix)) == 0 ? program + strlen(prefix) : program;
}

static int choice_of(const struct option *table, const void *config, const char *name)
{
	for (const struct option *row = table; row->name; row++) {
		if (strcmp(row->name, name) == 0)
			return *(const int *)((const char *)config + row->offset);
	}
	assert(!"the table has SERVICE_OPTIONS");
	return 0;
}

static void start_log(const char *program, const struct option *table, const void *config)
{
	log_init(service_name(program), (enum log_level)choice_of(table, config, "log-level"),
	    (enum log_format)choice_of(table, config, "log-format"));
}

int service_refuse(const struct err *err)
{
	fprintf(stderr, "%s: %s\n", process.program, err->message);
	return err_exit_status(err);
}

bool service_start(const char *program, const char *usage, const struct option *table, void *config,
    int argc, char **argv, int *ret_status)
{
	struct err err = ERR_INIT;
	enum option_action action;

	process.program = program;
	if (option_parse(table, config, argc, argv, NULL, &action, &err) < 0) {
		*ret_status = service_refuse(&err);
		return false;
	}
	if (action != OPTION_RUN) {
		if (action == OPTION_HELP)
			option_help(program, usage, table);
		else
			printf("%s %s%s\n", program, UMAVEZ_VERSION, FAILPOINT_MARK);
		*ret_status = 0;
		return false;
	}
	start_log(program, table, config);
	if (failpoint_init(&err) < 0 || start_signals(&err) < 0) {
		option_done(table, config);
		*ret_status = service_refuse(&err);
		return false;
	}
	return true;
}

bool service_stopping(void)
{
	return atomic_load(&process.stopping);
}

void service_stop(void)
{
	if (!atomic_exchange(&process.stopping, true))
		notify_tell("STOPPING=1\nSTATUS=stopping");
	raise_event(process.stop_fd);
}

int service_stop_fd(void)
{
	return process.stop_fd;
}

bool service_wait(int64_t ms)
{
	struct pollfd pfd = {.fd = process.stop_fd, .events = POLLIN};
	int64_t deadline_us = clock_mono_us() + ms * 1000;

	while (!service_stopping()) {
		int64_t left_ms = (deadline_us - clock_mono_us() + 999) / 1000;
		if (left_ms <= 0)
			break;
		poll(&pfd, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
	}
	return service_stopping();
}

void service_fail(const struct err *err)
{
	pthread_mutex_lock(&process.lock);
	bool first = process.failure.kind == ERR_NONE;
	if (first)
		process.failure = *err;
	pthread_mutex_unlock(&process.lock);
	if (first)
		log_error("cannot go on", lf_str("kind", err_kind_name(err->kind)), lf_err(err));
	service_stop();
}

int service_status(void)
{
	pthread_mutex_lock(&process.lock);
	int status = err_exit_status(&process.failure);
	pthread_mutex_unlock(&process.lock);
	return status;
}

int service_stopped(void)
{
	int status = service_status();

	log_info("stopped", lf_int("status", status));
	return status;
}

char *service_instance(void)
{
	char host[HOST_NAME_MAX + 1] = "localhost";
	uint32_t nonce;

	gethostname(host, sizeof(host) - 1);
	random_bytes(&nonce, sizeof(nonce));
	return mem_printf("%s:%d:%08x", host, (int)getpid(), nonce);
}
