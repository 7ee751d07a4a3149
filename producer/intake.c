#include "producer/intake.h"

#include "common/clock.h"
#include "common/failpoint.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/pace.h"
#include "common/service.h"
#include "producer/meter.h"
#include "producer/wake.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Longer than a load balancer needs to notice, shorter than the retries of any store go on. */
enum { NOT_READY_US = 30000000 };
enum { LOG_PACE_MS = 60000 };

/* One connection, and the batch that is under way on it. */
struct lane {
	struct intake *intake;
	struct session *session;
	struct batch_item **items;
	struct batch_plan plan;
	struct batch_range range; /* sent */
	struct receive receive;
	int64_t sent_us;
	bool carrying; /* a batch whose plan is not done */
};

struct intake {
	struct intake_options options;
	struct batch_queue queue;
	struct batch_claims *claims;
	struct event *dispatch;
	struct pace failed_pace;
	unsigned n_lanes;
	struct lane *lanes;
	atomic_int up; /* of the lanes' sessions */
};

static struct intake_item *item_of(struct batch_item *batch)
{
	return (struct intake_item *)((char *)batch - offsetof(struct intake_item, batch));
}

static void count_queued(struct intake *i, int change)
{
	atomic_fetch_add(&i->options.shared->queued, change);
	meter_queue(i->options.shared->meter, change);
}

static void settle_range(struct lane *l, const PGresult *res, enum intake_outcome failure)
{
	struct intake *i = l->intake;

	for (size_t n = l->range.begin; n < l->range.end; n++) {
		struct intake_item *item = item_of(l->items[n]);
		enum intake_outcome outcome = failure;

		if (res)
			outcome = receive_accepted(res, (int)(n - l->range.begin))
				      ? INTAKE_ACCEPTED
				      : INTAKE_DUPLICATE;
		batch_release(i->claims, &item->batch);
		item->done(item, outcome);
	}
}

static void on_done(void *ctx, const PGresult *res, const struct err *err);

static void send_next(struct lane *l)
{
	struct intake *i = l->intake;

	if (!batch_plan_next(&l->plan, &l->range)) {
		l->carrying = false;
		event_active(i->dispatch, EV_TIMEOUT, 0);
		return;
	}
	receive_reset(&l->receive);
	for (size_t n = l->range.begin; n < l->range.end; n++) {
		const struct intake_item *item = item_of(l->items[n]);
		receive_add(&l->receive, item->notification, &item->extra);
	}
	/* Durable: nothing of these notifications. A restart has forgotten them, their senders have
	 * no answer and post again. */
	FAILPOINT("producer.before_commit");
	l->sent_us = clock_mono_us();
	session_send(l->session, receive_statement(&l->receive), on_done, l);
}

/* The rest of the batch was not sent, and will not be: its senders come again. */
static void give_up(struct lane *l)
{
	do
		settle_range(l, NULL, INTAKE_UNAVAILABLE);
	while (batch_plan_next(&l->plan, &l->range));
	l->carrying = false;
	event_active(l->intake->dispatch, EV_TIMEOUT, 0);
}

static void log_refused(const struct lane *l, const struct err *err)
{
	const struct notification *n = item_of(l->items[l->range.begin])->notification;

	log_error("the database refuses a notification", lf_str("store", n->store),
	    lf_str("notification_id", n->notification_id), lf_str("sqlstate", err->sqlstate),
	    lf_err(err));
}

static void on_lost(struct lane *l, const struct err *err)
{
	struct intake *i = l->intake;
	bool cluster = strcmp(err->sqlstate, "UMV03") == 0;

	if (pace_due(&i->failed_pace, clock_mono_us(), LOG_PACE_MS))
		LOG_AT(cluster ? LOG_ERROR : LOG_WARN, "batch not committed",
		    lf_str("sqlstate", err->sqlstate), lf_err(err), lf_end());
	if (session_is_idle(l->session)) {
		atomic_store(&i->options.shared->failed_us, clock_mono_us());
		atomic_fetch_add(&i->options.shared->failures, 1);
		session_drop(l->session, err);
	}
	give_up(l);
}

/* What a constraint or a trigger refuses it may take another day; a data exception (22) or a
 * program limit (54) comes again whenever this is sent. */
static enum intake_outcome refusal_of(const struct err *err)
{
	bool forever = strncmp(err->sqlstate, "22", 2) == 0 || strncmp(err->sqlstate, "54", 2) == 0;

	return forever ? INTAKE_UNSTORABLE : INTAKE_REFUSED;
}

static void on_failed(struct lane *l, const struct err *err)
{
	/* Nothing can be sent again on a connection that is gone. */
	enum batch_event event = session_is_idle(l->session) ? batch_event_of(err) : BATCH_LOST;

	if (event == BATCH_LOST) {
		on_lost(l, err);
		return;
	}
	if (batch_plan_settle(&l->plan, l->range, event)) {
		if (event == BATCH_REFUSED)
			log_refused(l, err);
		settle_range(
		    l, NULL, event == BATCH_REFUSED ? refusal_of(err) : INTAKE_UNAVAILABLE);
	}
	send_next(l);
}

static void ring(const struct lane *l, const PGresult *res)
{
	for (int n = 0; n < PQntuples(res); n++) {
		if (receive_accepted(res, n))
			wake_ring(l->intake->options.shared->wake,
			    item_of(l->items[l->range.begin + (size_t)n])->notification);
	}
}

static void on_done(void *ctx, const PGresult *res, const struct err *err)
{
	struct lane *l = ctx;
	struct intake_shared *shared = l->intake->options.shared;

	meter_commit(shared->meter, clock_mono_us() - l->sent_us);
	if (err) {
		on_failed(l, err);
		return;
	}
	assert((size_t)PQntuples(res) == l->range.end - l->range.begin);
	/* Durable: notification, purchase and outbox rows of the range, and nobody has been told. A
	 * restart need not do anything: the senders post again and are answered "duplicate". */
	FAILPOINT("producer.after_commit");
	atomic_store(&shared->failures, 0);
	ring(l, res);
	batch_plan_settle(&l->plan, l->range, BATCH_COMMITTED);
	settle_range(l, res, INTAKE_UNAVAILABLE);
	send_next(l);
}

static void begin_batch(struct lane *l)
{
	struct intake *i = l->intake;
	size_t n = batch_choose(&i->queue, i->claims, i->options.batch, l->items);

	if (n == 0)
		return;
	for (size_t k = 0; k < n; k++)
		item_of(l->items[k])->queued = false;
	count_queued(i, -(int)n);
	meter_batch(i->options.shared->meter, n);
	batch_plan_begin(&l->plan, n);
	l->carrying = true;
	send_next(l);
}

/* Runs when the loop has handled what was ready: what came in together goes together. */
static void on_dispatch(evutil_socket_t fd, short what, void *arg)
{
	struct intake *i = arg;

	(void)fd;
	(void)what;
	for (unsigned n = 0; n < i->n_lanes && !TAILQ_EMPTY(&i->queue); n++) {
		struct lane *l = &i->lanes[n];
		if (!l->carrying && session_is_idle(l->session))
			begin_batch(l);
	}
}

static void on_up(void *ctx)
{
	struct lane *l = ctx;
	struct intake_shared *shared = l->intake->options.shared;

	meter_database(shared->meter, 1);
	atomic_fetch_add(&l->intake->up, 1);
	atomic_fetch_add(&shared->up, 1);
	if (atomic_exchange(&shared->lost, false))
		log_warn("the database is back");
	event_active(l->intake->dispatch, EV_TIMEOUT, 0);
}

static void refuse_queue(struct intake *i)
{
	struct batch_item *batch;

	while ((batch = TAILQ_FIRST(&i->queue))) {
		struct intake_item *item = item_of(batch);

		TAILQ_REMOVE(&i->queue, batch, link);
		item->queued = false;
		count_queued(i, -1);
		item->done(item, INTAKE_UNAVAILABLE);
	}
}

static void on_down(void *ctx, bool was_up, const struct err *err)
{
	struct lane *l = ctx;
	struct intake_shared *shared = l->intake->options.shared;

	if (was_up) {
		meter_database(shared->meter, -1);
		atomic_fetch_sub(&l->intake->up, 1);
		atomic_fetch_sub(&shared->up, 1);
	}
	/* Once an outage, not once a connection or a retry. */
	if (err->kind != ERR_RETRY && !was_up)
		service_fail(err);
	else if (atomic_load(&shared->up) == 0 && !atomic_exchange(&shared->lost, true))
		log_warn("the database is away", lf_err(err));
	if (!intake_is_up(l->intake))
		refuse_queue(l->intake);
}

static void open_lane(struct intake *i, struct lane *l)
{
	const struct session_options session = {
	    .base = i->options.base,
	    .url = i->options.database_url,
	    .application_name = i->options.application_name,
	    .statement_ms = i->options.statement_ms,
	    .lock_ms = i->options.lock_ms,
	    .up = on_up,
	    .down = on_down,
	    .ctx = l,
	};

	l->intake = i;
	l->items = mem_zalloc(i->options.batch, sizeof(struct batch_item *));
	batch_plan_init(&l->plan, i->options.batch);
	receive_init(&l->receive);
	l->session = session_new(&session);
}

struct intake *intake_new(const struct intake_options *options)
{
	struct intake *i = mem_zalloc(1, sizeof(*i));

	i->options = *options;
	TAILQ_INIT(&i->queue);
	i->claims = batch_claims_new(options->batch * options->connections);
	i->dispatch = event_new(options->base, -1, 0, on_dispatch, i);
	if (!i->dispatch)
		abort();
	i->lanes = mem_zalloc(options->connections, sizeof(*i->lanes));
	i->n_lanes = options->connections;
	i->options.shared->lanes += (int)options->connections;
	for (unsigned n = 0; n < i->n_lanes; n++)
		open_lane(i, &i->lanes[n]);
	return i;
}

void intake_free(struct intake *i)
{
	if (!i)
		return;
	for (unsigned n = 0; n < i->n_lanes; n++) {
		struct lane *l = &i->lanes[n];

		session_free(l->session);
		if (l->carrying)
			give_up(l);
		receive_done(&l->receive);
		batch_plan_done(&l->plan);
		free(l->items);
	}
	refuse_queue(i);
	event_free(i->dispatch);
	batch_claims_free(i->claims);
	free(i->lanes);
	free(i);
}

bool intake_is_up(const struct intake *i)
{
	return atomic_load(&i->up) > 0;
}

bool intake_commits(const struct intake_shared *shared, int64_t now_us)
{
	return atomic_load(&shared->failures) < shared->lanes ||
	       now_us - atomic_load(&shared->failed_us) >= NOT_READY_US;
}

int intake_submit(struct intake *i, struct intake_item *item, struct err *err)
{
	struct intake_shared *shared = i->options.shared;
	const struct notification *n = item->notification;

	if (!intake_is_up(i))
		return err_set(err, ERR_RETRY, "The database is away.");
	if (atomic_load(&shared->queued) >= shared->max_queued)
		return err_set(err, ERR_RETRY, "Too many notifications are waiting.");
	item->batch = (struct batch_item){.store = n->store,
	    .notification_id = n->notification_id,
	    .store_purchase_id = n->store_purchase_id,
	    .bytes = item->extra.len};
	batch_item_init(&item->batch);
	TAILQ_INSERT_TAIL(&i->queue, &item->batch, link);
	item->queued = true;
	count_queued(i, 1);
	event_active(i->dispatch, EV_TIMEOUT, 0);
	return 0;
}

bool intake_withdraw(struct intake *i, struct intake_item *item)
{
	if (!item->queued)
		return false;
	TAILQ_REMOVE(&i->queue, &item->batch, link);
	item->queued = false;
	count_queued(i, -1);
	return true;
}
