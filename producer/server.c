#include "producer/server.h"

#include "common/clock.h"
#include "common/memory.h"
#include "common/service.h"
#include "producer/listening.h"
#include "producer/loop.h"
#include "producer/meter.h"
#include "producer/refused.h"
#include "producer/wake.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { STALE_US = 5000000, JOIN_EXTRA_MS = 2000 };

/* Of files: kept for everything but clients, at least so many for those of a loop, and no more in
 * all than this. */
enum { RESERVED_FILES = 128, MIN_CLIENTS = 64, MAX_FILES = 1000000 };

/* A statement may wait for a lock twice with its batch and once alone, within its request's time.
 */
enum { LOCK_SHARE = 5 };

struct server {
	struct intake_shared shared;
	struct refused *refused;
	char *application_name;
	int64_t drain_ms;
	int port;
	unsigned n_loops, n_running;
	struct loop **loops;
	pthread_t *threads;
};

static unsigned thread_count(const struct config *config)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (config->threads > 0)
		return (unsigned)config->threads;
	return cores > 0 ? (unsigned)cores : 1;
}

/* As many files as we may have. */
static rlim_t raise_file_limit(void)
{
	struct rlimit limit = {1024, 1024};

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur < MAX_FILES ? limit.rlim_cur : MAX_FILES;
}

/* What is left of the files for clients, in each loop. */
static int client_share(
    unsigned n_loops, int64_t database_connections, unsigned *ret_share, struct err *err)
{
	rlim_t reserved = RESERVED_FILES + (rlim_t)database_connections;
	rlim_t needed = reserved + (rlim_t)n_loops * MIN_CLIENTS, limit = raise_file_limit();

	if (limit < needed)
		return err_set(err, ERR_FATAL,
		    "the limit of open files is %llu: raise it (ulimit -n) to %llu at least",
		    (unsigned long long)limit, (unsigned long long)needed);
	*ret_share = (unsigned)((limit - reserved) / n_loops);
	return 0;
}

/* The total spread over the loops, the first ones getting what is over; at least one each. */
static unsigned connection_share(int64_t total, unsigned n_loops, unsigned i)
{
	unsigned share = (unsigned)(total / n_loops + (i < total % n_loops));

	return share > 0 ? share : 1;
}

static void make_loops(struct server *s, const struct config *config, const struct routes *routes,
    const int *fds, unsigned clients)
{
	for (unsigned i = 0; i < s->n_loops; i++) {
		const struct loop_options options = {
		    .listen_fd = fds[i],
		    .shared = &s->shared,
		    .refused = s->refused,
		    .routes = routes,
		    .database_url = config->database_url,
		    .application_name = s->application_name,
		    .database_connections =
			connection_share(config->database_connections, s->n_loops, i),
		    .max_connections = clients,
		    .batch = (size_t)config->batch,
		    .max_body = config->max_body,
		    .request_ms = config->request_timeout_ms,
		    .lock_ms = config->request_timeout_ms / LOCK_SHARE,
		    .drain_ms = config->drain_timeout_ms,
		    .trust_traceparent = config->trust_traceparent,
		};
		s->loops[i] = loop_new(&options);
	}
}

/* It turns with the first loop. */
static int open_wake(struct server *s, const struct config *config, struct err *err)
{
	const struct session_options session = {
	    .base = loop_base(s->loops[0]),
	    .url = config->database_url,
	    .application_name = s->application_name,
	    .statement_ms = config->request_timeout_ms,
	    .lock_ms = config->request_timeout_ms / LOCK_SHARE,
	};

	return wake_open(&session, &s->shared.wake, err);
}

static void *run(void *arg)
{
	loop_run(arg);
	return NULL;
}

static int start_threads(struct server *s, struct err *err)
{
	for (unsigned i = 0; i < s->n_loops; i++) {
		int rc = pthread_create(&s->threads[i], NULL, run, s->loops[i]);
		if (rc != 0)
			return err_set(err, ERR_FATAL, "event loop: %s", strerror(rc));
		s->n_running++;
	}
	return 0;
}

/* A start that failed half-way: end the loops that run already. */
static void stop_half_started(struct server *s)
{
	service_stop();
	for (unsigned i = 0; i < s->n_running; i++)
		pthread_join(s->threads[i], NULL);
	s->n_running = 0;
}

int server_open(const struct config *config, const char *instance, const struct routes *routes,
    struct metrics *metrics, struct server **ret_server, struct err *err)
{
	struct server *s = mem_zalloc(1, sizeof(*s));
	unsigned clients = 0;
	int *fds = NULL, rc = -1;

	s->n_loops = thread_count(config);
	s->loops = mem_zalloc(s->n_loops, sizeof(struct loop *));
	s->threads = mem_zalloc(s->n_loops, sizeof(pthread_t));
	s->drain_ms = config->drain_timeout_ms;
	s->application_name = mem_printf("umavez-producer/%s", instance);
	s->shared.max_queued = config->queue;
	s->shared.meter = meter_new(metrics);
	s->refused = refused_new(s->shared.meter);
	fds = mem_zalloc(s->n_loops, sizeof(*fds));
	if (client_share(s->n_loops, config->database_connections, &clients, err) < 0)
		goto done;
	if (listening_open(config->listen, (int)s->n_loops, fds, err) < 0)
		goto done;
	s->port = listening_port(fds[0]);
	make_loops(s, config, routes, fds, clients);
	if (open_wake(s, config, err) < 0)
		goto done;
	if (start_threads(s, err) < 0) {
		stop_half_started(s);
		goto done;
	}
	*ret_server = s;
	s = NULL; /* the caller's now */
	rc = 0;
done:
	free(fds);
	server_close(s);
	return rc;
}

int server_port(const struct server *s)
{
	return s->port;
}

bool server_ready(void *server, char *reason, size_t reason_size)
{
	const struct server *s = server;
	int64_t now_us = clock_mono_us();

	if (service_stopping()) {
		snprintf(reason, reason_size, "stopping");
		return false;
	}
	for (unsigned i = 0; i < s->n_loops; i++) {
		if (!loop_has_database(s->loops[i])) {
			snprintf(
			    reason, reason_size, "event loop %u has no database connection", i);
			return false;
		}
		if (now_us - loop_beat_us(s->loops[i]) > STALE_US) {
			snprintf(reason, reason_size, "event loop %u stands still", i);
			return false;
		}
	}
	if (!intake_commits(&s->shared, now_us)) {
		snprintf(reason, reason_size, "the database commits nothing");
		return false;
	}
	return true;
}

int server_join(struct server *s, unsigned *ret_unanswered, struct err *err)
{
	struct timespec until;
	unsigned unanswered = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (s->drain_ms + JOIN_EXTRA_MS) / 1000;
	for (unsigned i = 0; i < s->n_loops; i++) {
		if (pthread_timedjoin_np(s->threads[i], NULL, &until) != 0)
			return err_set(err, ERR_FATAL, "event loop %u does not end", i);
		unanswered += loop_unanswered(s->loops[i]);
	}
	s->n_running = 0;
	*ret_unanswered = unanswered;
	return 0;
}

void server_close(struct server *s)
{
	if (!s)
		return;
	wake_close(s->shared.wake);
	for (unsigned i = 0; i < s->n_loops; i++)
		loop_free(s->loops[i]);
	refused_free(s->refused);
	meter_free(s->shared.meter);
	free(s->application_name);
	free(s->loops);
	free(s->threads);
	free(s);
}
