#include "producer/wake.h"

#include "common/clock.h"
#include "common/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct wake {
	struct session *session;
	int fd;
	atomic_bool rung; /* and the loop knows, or is about to */
	struct event *bell, *later;
	int64_t next_us; /* none before that */
};

/* The outcome does not matter: the session has seen to the connection. */
static void on_sent(void *ctx, const PGresult *res, const struct err *err)
{
	(void)ctx;
	(void)res;
	(void)err;
}

static void notify(struct wake *w)
{
	static const struct session_statement statement = {.sql = "NOTIFY umavez_outbox"};

	atomic_store(&w->rung, false);
	if (!session_is_up(w->session))
		return;
	w->next_us = clock_mono_us() + WAKE_INTERVAL_US;
	session_send(w->session, &statement, on_sent, w);
}

/* Now, or when the interval is over and the last one is through. */
static void notify_in_time(struct wake *w)
{
	const struct timeval interval = {0, WAKE_INTERVAL_US};

	if (clock_mono_us() < w->next_us ||
	    (session_is_up(w->session) && !session_is_idle(w->session)))
		evtimer_add(w->later, &interval);
	else
		notify(w);
}

static void on_bell(evutil_socket_t fd, short what, void *arg)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));

	(void)n;
	(void)what;
	notify_in_time(arg);
}

static void on_later(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	notify_in_time(arg);
}

int wake_open(const struct session_options *options, struct wake **ret_wake, struct err *err)
{
	struct wake *w = mem_zalloc(1, sizeof(*w));
	struct session_options session = *options;

	session.up = NULL;
	session.down = NULL;
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0) {
		free(w);
		return err_set(err, ERR_FATAL, "eventfd: %s", strerror(errno));
	}
	w->bell = event_new(options->base, w->fd, EV_READ | EV_PERSIST, on_bell, w);
	w->later = evtimer_new(options->base, on_later, w);
	if (!w->bell || !w->later)
		abort();
	event_add(w->bell, NULL);
	w->session = session_new(&session);
	*ret_wake = w;
	return 0;
}

void wake_close(struct wake *w)
{
	if (!w)
		return;
	session_free(w->session);
	event_free(w->bell);
	event_free(w->later);
	close(w->fd);
	free(w);
}

void wake_ring(struct wake *w)
{
	const uint64_t one = 1;

	if (atomic_exchange(&w->rung, true))
		return;
	ssize_t n = write(w->fd, &one, sizeof(one));
	(void)n; /* the counter is far from full */
}
