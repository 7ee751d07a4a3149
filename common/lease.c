#include "common/lease.h"

#include "common/lease_table.h"
#include "common/lease_worker.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/pace.h"
#include "common/pg.h"
#include "common/reach.h"
#include "common/service.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The longest nap of the keeper while workers run: workers that expire or rest need it then. */
enum { NAP_MS = 200 };

enum { LOG_PACE_MS = 60000 };

struct leases {
	struct lease_options options;
	struct lease_table *table;
	PGconn *conn;      /* NULL: not connected */
	bool started;      /* they were kept once */
	bool outage;       /* said so in the log */
	const char *unfit; /* what reach_problem() said last */
	struct pace unfit_pace;
	unsigned failures;
	int64_t next_us;   /* when to renew, or to try to connect */
	int64_t expiry_ms; /* at the last look, until something of somebody else ends */
	int wake_fd;       /* a worker has returned */
	struct rng rng;
	struct lease *leases; /* by shard */
	bool *renewed;        /* by shard: scratch */
	int64_t *terms;       /* by shard: scratch */
};

int leases_open(const struct lease_options *options, struct leases **ret_leases, struct err *err)
{
	struct leases *l = mem_zalloc(1, sizeof(*l));

	assert(options->lease_ms > 0 && options->shards > 0);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake_fd < 0) {
		free(l);
		return err_set(err, ERR_FATAL, "eventfd: %s", strerror(errno));
	}
	l->options = *options;
	l->table = lease_table_new(&l->options);
	rng_seed_random(&l->rng);
	l->leases = mem_zalloc(options->shards, sizeof(*l->leases));
	l->renewed = mem_zalloc(options->shards, sizeof(*l->renewed));
	l->terms = mem_zalloc(options->shards, sizeof(*l->terms));
	for (unsigned i = 0; i < options->shards; i++)
		lease_init(&l->leases[i], i, options->worker, options->ctx, l->wake_fd);
	*ret_leases = l;
	return 0;
}

void leases_close(struct leases *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < l->options.shards; i++)
		lease_done(&l->leases[i]);
	PQfinish(l->conn);
	lease_table_free(l->table);
	close(l->wake_fd);
	free(l->leases);
	free(l->renewed);
	free(l->terms);
	free(l);
}

static bool is_held(const struct lease *lease)
{
	return lease->state == LEASE_HELD || lease->state == LEASE_RESTING;
}

static unsigned count_held(const struct leases *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->options.shards; i++)
		n += is_held(&l->leases[i]);
	return n;
}

static int64_t period_ms(const struct leases *l)
{
	return l->options.lease_ms / 3 > 0 ? l->options.lease_ms / 3 : 1;
}

static void tell(const struct leases *l, const char *why)
{
	if (l->options.kept)
		l->options.kept(l->options.ctx, why);
}

static void disconnect(struct leases *l, const struct err *err)
{
	PQfinish(l->conn);
	l->conn = NULL;
	if (err->kind != ERR_RETRY && err->kind != ERR_REJECT)
		service_fail(err);
	else if (!l->outage)
		log_warn("leases cannot be kept", lf_err(err));
	l->outage = true;
	tell(l, err->message);
}

static void release(struct leases *l, const struct lease *lease)
{
	struct err err = ERR_INIT;

	log_info("shard left", lf_int("shard", lease->shard), lf_int("term", lease->term));
	/* Without the database the row expires by itself. */
	if (l->conn && lease_table_release(l->table, l->conn, lease, &err) < 0)
		disconnect(l, &err);
}

static void part_with(struct leases *l, struct lease *lease)
{
	bool resting = lease->state == LEASE_RESTING;

	lease_ask(lease);
	if (resting)
		release(l, lease);
}

static void reap(struct leases *l)
{
	for (unsigned i = 0; i < l->options.shards; i++) {
		struct lease *lease = &l->leases[i];
		bool leaving = lease->state == LEASE_LEAVING;

		lease_reap(lease, &l->rng);
		if (leaving && lease->state == LEASE_FREE)
			release(l, lease);
	}
}

/* What has expired is not renewed, even if nobody has claimed it: its worker has seen it and left.
 */
static void expire(struct leases *l)
{
	for (unsigned i = 0; i < l->options.shards; i++) {
		struct lease *lease = &l->leases[i];

		if (!is_held(lease) || !lease_lost(lease))
			continue;
		log_warn("lease expired", lf_int("shard", i), lf_int("term", lease->term));
		part_with(l, lease);
	}
}

static int renew(struct leases *l, struct err *err)
{
	int64_t until_us = clock_mono_us() + l->options.lease_ms * 1000;

	if (lease_table_renew(l->table, l->conn, l->leases, l->renewed, err) < 0)
		return -1;
	for (unsigned i = 0; i < l->options.shards; i++) {
		struct lease *lease = &l->leases[i];

		if (!is_held(lease))
			continue;
		if (l->renewed[i]) {
			lease_extend(lease, until_us);
			continue;
		}
		log_warn("lease taken by another", lf_int("shard", i), lf_int("term", lease->term));
		part_with(l, lease);
	}
	return 0;
}

/* Rounded up, so that every shard has a holder; those above are given back, the last ones first. */
static unsigned even_share(unsigned shards, unsigned instances)
{
	return (shards + instances - 1) / instances;
}

static void give_back(struct leases *l, unsigned surplus)
{
	for (unsigned i = l->options.shards; i-- > 0 && surplus > 0;) {
		if (!is_held(&l->leases[i]))
			continue;
		part_with(l, &l->leases[i]);
		surplus--;
	}
}

static int claim(struct leases *l, unsigned limit, struct err *err)
{
	int64_t until_us = clock_mono_us() + l->options.lease_ms * 1000;

	if (lease_table_claim(l->table, l->conn, l->leases, limit, l->terms, err) < 0)
		return -1;
	for (unsigned i = 0; i < l->options.shards; i++) {
		if (l->terms[i] == 0)
			continue;
		lease_take(&l->leases[i], l->terms[i], until_us);
		log_info("shard taken", lf_int("shard", i), lf_int("term", l->terms[i]));
	}
	return 0;
}

/* Presence comes first: who forgets this consumer meanwhile sees it, and leaves its rows alone, or
 * has removed those that are made anew here (effects.forget_consumer).  It may forget us at any
 * time that we stood still for longer than a lease, so they are made before each claim. */
static int share(struct leases *l, struct err *err)
{
	unsigned instances;

	if (lease_table_attend(l->table, l->conn, &instances, &l->expiry_ms, err) < 0)
		return -1;
	unsigned part = even_share(l->options.shards, instances), held = count_held(l);
	if (held > part)
		give_back(l, held - part);
	if (held >= part || !l->conn)
		return 0;
	if (lease_table_prepare(l->table, l->conn, err) < 0)
		return -1;
	return claim(l, part - held, err);
}

/* Presence ends too, so that the others take the shards: as each worker returns, or its lease
 * ends. */
static int abstain(struct leases *l, struct err *err)
{
	l->expiry_ms = INT64_MAX;
	give_back(l, count_held(l));
	return l->conn ? lease_table_leave(l->table, l->conn, err) : 0;
}

static int take_part(struct leases *l, struct err *err)
{
	const char *unfit = l->options.reach ? reach_problem(l->options.reach) : NULL;

	if (unfit && pace_due(&l->unfit_pace, clock_mono_us(), LOG_PACE_MS))
		log_warn("no shard is held until this is over", lf_str("reason", unfit));
	else if (!unfit && l->unfit)
		log_info("shards are held again");
	l->unfit = unfit;
	return unfit ? abstain(l, err) : share(l, err);
}

static int connect_database(struct leases *l, struct err *err)
{
	const struct pg_session session = {
	    .application_name = "umavez-lease",
	    .statement_timeout = period_ms(l),
	    .lock_timeout = period_ms(l),
	    .idle_in_transaction_timeout = l->options.lease_ms,
	    .connect_timeout = l->options.lease_ms,
	};

	if (l->conn)
		return 0;
	return pg_connect(l->options.database_url, &session, &l->conn, err);
}

/* Renewal comes first: it is what has a deadline. */
static int keep(struct leases *l, struct err *err)
{
	expire(l);
	if (connect_database(l, err) < 0 || renew(l, err) < 0)
		return -1;
	return l->conn ? take_part(l, err) : 0;
}

static void keep_on(struct leases *l)
{
	struct err err = ERR_INIT;
	int64_t wait_ms = period_ms(l);

	if (keep(l, &err) < 0) {
		wait_ms = backoff_ms(l->failures++, wait_ms / 8 + 1, wait_ms + 1, &l->rng);
		if (!l->started)
			pg_error_at_start(&err);
		disconnect(l, &err);
	} else if (l->conn) {
		l->started = true;
		if (l->outage)
			log_info("leases are kept again");
		l->outage = false;
		tell(l, l->unfit);
		l->failures = 0;
		/* Who lives renews long before.  Of who does not, nothing is left then. */
		if (l->expiry_ms < wait_ms)
			wait_ms = l->expiry_ms + 1;
	}
	l->next_us = clock_mono_us() + wait_ms * 1000;
}

static void restart(struct leases *l)
{
	for (unsigned i = 0; i < l->options.shards; i++)
		lease_restart(&l->leases[i]);
}

/* Until something is due, a worker has returned, or we are to stop. */
static void nap(struct leases *l, int64_t ms)
{
	struct pollfd pfds[] = {{.fd = l->wake_fd, .events = POLLIN},
	    {.fd = service_stopping() ? -1 : service_stop_fd(), .events = POLLIN}};
	uint64_t count;

	poll(pfds, 2, (int)(ms < NAP_MS ? ms : NAP_MS));
	ssize_t n = read(l->wake_fd, &count, sizeof(count));
	(void)n; /* nothing to read is fine */
}

static void share_shards(struct leases *l)
{
	while (!service_stopping()) {
		/* First: a worker that has left an expired lease has not returned early. */
		expire(l);
		reap(l);
		restart(l);
		if (clock_mono_us() >= l->next_us)
			keep_on(l);
		int64_t left_us = l->next_us - clock_mono_us();
		nap(l, left_us > 0 ? left_us / 1000 + 1 : 0);
	}
}

static void hold_all(struct leases *l)
{
	for (unsigned i = 0; i < l->options.shards; i++)
		lease_take(&l->leases[i], 0, INT64_MAX);
	tell(l, NULL);
	while (!service_stopping()) {
		reap(l);
		restart(l);
		nap(l, NAP_MS);
	}
}

static bool any_leaving(const struct leases *l)
{
	for (unsigned i = 0; i < l->options.shards; i++) {
		if (l->leases[i].state == LEASE_LEAVING)
			return true;
	}
	return false;
}

/* Ask all at once, then wait: each row is free as soon as its worker has returned, so that a
 * successor can take over without waiting for the lease to expire. */
static void wind_down(struct leases *l)
{
	struct err err = ERR_INIT;

	for (unsigned i = 0; i < l->options.shards; i++)
		part_with(l, &l->leases[i]);
	for (reap(l); any_leaving(l); reap(l))
		nap(l, NAP_MS);
	if (l->conn && lease_table_leave(l->table, l->conn, &err) < 0)
		log_warn("could not sign off", lf_err(&err));
}

void leases_run(struct leases *l)
{
	if (l->options.all)
		hold_all(l);
	else
		share_shards(l);
	wind_down(l);
}
