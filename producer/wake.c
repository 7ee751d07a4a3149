#include "producer/wake.h"

#include "common/clock.h"
#include "common/memory.h"
#include "common/pg.h"
#include "common/wakeup.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct wake {
	struct session *session;
	int fd;
	atomic_uint shards;    /* of this deployment; 0: not yet known */
	_Atomic uint64_t rung; /* where; once it is, the loop knows, or is about to */
	struct event *bell, *later;
	int64_t next_us; /* none before that */
	char command[WAKEUP_SIZE];
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
	const struct session_statement statement = {
	    .sql = wakeup_command(atomic_exchange(&w->rung, 0), w->command)};

	if (!session_is_up(w->session))
		return;
	w->next_us = clock_mono_us() + WAKE_INTERVAL_US;
	session_send(w->session, &statement, on_sent, w);
}

/* Now, or when the interval is over and the last one is through. */
static void notify_in_time(struct wake *w)
{
	bool busy = session_is_up(w->session) && !session_is_idle(w->session);
	int64_t early_us = busy ? WAKE_INTERVAL_US : w->next_us - clock_mono_us();
	const struct timeval later = {0, early_us};

	if (early_us > 0)
		evtimer_add(w->later, &later);
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

static void on_shards(void *ctx, const PGresult *res, const struct err *err)
{
	struct wake *w = ctx;

	(void)err;
	if (res && PQntuples(res) == 1)
		atomic_store(&w->shards, (unsigned)pg_int(res, 0, "shards"));
}

static void on_up(void *ctx)
{
	static const struct session_statement statement = {
	    .sql = "SELECT shards FROM intake.setting"};
	struct wake *w = ctx;

	if (atomic_load(&w->shards) == 0)
		session_send(w->session, &statement, on_shards, w);
}

int wake_open(const struct session_options *options, struct wake **ret_wake, struct err *err)
{
	struct wake *w = mem_zalloc(1, sizeof(*w));
	struct session_options session = *options;

	session.up = on_up;
	session.down = NULL;
	session.ctx = w;
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

/* As intake.subject_of() has it. */
static uint64_t where_is(const struct wake *w, const struct notification *n)
{
	const char *id = n->store_purchase_id, *slash = id ? "" : "/";
	char subject[1024];
	int len = snprintf(
	    subject, sizeof(subject), "%s/%s%s", n->store, slash, id ? id : n->notification_id);

	if (len < 0 || (size_t)len >= sizeof(subject))
		return WAKEUP_ANY;
	return wakeup_of(subject, atomic_load(&w->shards));
}

void wake_ring(struct wake *w, const struct notification *n)
{
	const uint64_t one = 1;

	if (atomic_fetch_or(&w->rung, where_is(w, n)) != 0)
		return;
	ssize_t written = write(w->fd, &one, sizeof(one));
	(void)written; /* the counter is far from full */
}
