#include "common/lease_worker.h"

#include "common/log.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A worker that returns although its lease holds is started again, less and less often; one that
 * ran for a while first begins anew. */
enum { RESTART_MIN_MS = 100, RESTART_MAX_MS = 5000, SETTLED_US = 10000000 };

static void set_state(struct lease *lease, enum lease_state to)
{
	static const bool allowed[LEASE_STATES][LEASE_STATES] = {
	    [LEASE_FREE] = {[LEASE_HELD] = true},
	    [LEASE_HELD] = {[LEASE_RESTING] = true, [LEASE_LEAVING] = true},
	    [LEASE_RESTING] = {[LEASE_HELD] = true, [LEASE_FREE] = true},
	    [LEASE_LEAVING] = {[LEASE_FREE] = true},
	};

	bool move = allowed[lease->state][to];

	assert(move);
	(void)move;
	lease->state = to;
}

void lease_init(
    struct lease *lease, unsigned shard, lease_worker_fn *work, void *ctx, int keeper_fd)
{
	pthread_condattr_t attr;

	lease->shard = shard;
	lease->work = work;
	lease->ctx = ctx;
	lease->keeper_fd = keeper_fd;
	lease->state = LEASE_FREE;
	pthread_mutex_init(&lease->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&lease->changed, &attr);
	pthread_condattr_destroy(&attr);
}

void lease_done(struct lease *lease)
{
	assert(lease->state == LEASE_FREE);
	pthread_cond_destroy(&lease->changed);
	pthread_mutex_destroy(&lease->lock);
}

static void tell_keeper(struct lease *lease)
{
	uint64_t one = 1;

	atomic_store(&lease->returned, true);
	ssize_t n = write(lease->keeper_fd, &one, sizeof(one));
	(void)n; /* a full counter wakes it too */
}

static void *run(void *arg)
{
	struct lease *lease = arg;

	lease->work(lease, lease->ctx);
	tell_keeper(lease);
	return NULL;
}

static void rest(struct lease *lease, struct rng *rng)
{
	int64_t now_us = clock_mono_us();

	if (now_us - lease->started_us > SETTLED_US)
		lease->restarts = 0;
	int64_t ms = backoff_ms(lease->restarts++, RESTART_MIN_MS, RESTART_MAX_MS, rng);
	lease->restart_us = now_us + ms * 1000;
	set_state(lease, LEASE_RESTING);
	log_debug(
	    "shard worker returned early", lf_int("shard", lease->shard), lf_int("restart_ms", ms));
}

static void start(struct lease *lease)
{
	atomic_store(&lease->returned, false);
	lease->started_us = clock_mono_us();
	set_state(lease, LEASE_HELD);
	/* Without a thread nothing here can make progress, and a restart is safe. */
	if (pthread_create(&lease->thread, NULL, run, lease) != 0)
		abort();
}

void lease_take(struct lease *lease, int64_t term, int64_t valid_until_us)
{
	lease->term = term;
	lease->restarts = 0;
	atomic_store(&lease->leave, false);
	atomic_store(&lease->valid_until_us, valid_until_us);
	start(lease);
}

static void announce(struct lease *lease)
{
	pthread_mutex_lock(&lease->lock);
	pthread_cond_broadcast(&lease->changed);
	pthread_mutex_unlock(&lease->lock);
}

void lease_extend(struct lease *lease, int64_t valid_until_us)
{
	atomic_store(&lease->valid_until_us, valid_until_us);
}

void lease_ask(struct lease *lease)
{
	if (lease->state == LEASE_RESTING) {
		set_state(lease, LEASE_FREE);
	} else if (lease->state == LEASE_HELD) {
		atomic_store(&lease->leave, true);
		announce(lease);
		set_state(lease, LEASE_LEAVING);
	}
}

void lease_reap(struct lease *lease, struct rng *rng)
{
	bool running = lease->state == LEASE_HELD || lease->state == LEASE_LEAVING;

	if (!running || !atomic_load(&lease->returned))
		return;
	pthread_join(lease->thread, NULL);
	if (lease->state == LEASE_LEAVING)
		set_state(lease, LEASE_FREE);
	else
		rest(lease, rng);
}

void lease_restart(struct lease *lease)
{
	if (lease->state == LEASE_RESTING && clock_mono_us() >= lease->restart_us)
		start(lease);
}

unsigned lease_shard(const struct lease *lease)
{
	return lease->shard;
}

bool lease_lost(const struct lease *lease)
{
	return atomic_load(&lease->leave) || clock_mono_us() >= atomic_load(&lease->valid_until_us);
}

static struct timespec to_timespec(int64_t us)
{
	return (struct timespec){us / 1000000, us % 1000000 * 1000};
}

bool lease_wait(struct lease *lease, int64_t ms)
{
	int64_t deadline_us = clock_mono_us() + ms * 1000;

	pthread_mutex_lock(&lease->lock);
	while (!lease_lost(lease) && clock_mono_us() < deadline_us) {
		int64_t until_us = atomic_load(&lease->valid_until_us);
		if (until_us > deadline_us)
			until_us = deadline_us;
		struct timespec until = to_timespec(until_us);
		pthread_cond_timedwait(&lease->changed, &lease->lock, &until);
	}
	pthread_mutex_unlock(&lease->lock);
	return lease_lost(lease);
}
