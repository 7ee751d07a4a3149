#include "relay/shard.h"

#include "common/clock.h"
#include "common/failpoint.h"
#include "common/log.h"
#include "common/redis.h"
#include "common/service.h"
#include "relay/shard_private.h"

#include <inttypes.h>
#include <stdio.h>

#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 5000

/* How long publishing may keep everything else waiting. */
#define PUBLISH_US (10 * 1000000LL)

/* How soon a lost lease is noticed while waiting for a wake-up. */
#define WAIT_SLICE_MS 100

void shard_pause(struct shard *s, const char *why)
{
	if (status_paused(s->status, why))
		log_error("publishing is paused", lf_shard(s), lf_str("reason", why));
	lease_wait(s->lease, s->config->poll_interval_ms);
}

/* Until a wake-up, the next poll, or the end of the lease.  Whoever commits rows says so behind his
 * commit: without that, they are looked for at the next poll. */
static int wait_for_rows(struct shard *s, struct err *err)
{
	while (!lease_lost(s->lease)) {
		int64_t left_ms = (s->poll_due_us - clock_mono_us() + 999) / 1000;
		int woken;

		if (left_ms <= 0)
			break;
		woken = db_wait(s->db, service_stop_fd(),
		    left_ms < WAIT_SLICE_MS ? left_ms : WAIT_SLICE_MS, err);
		if (woken < 0)
			return -1;
		if (woken > 0)
			break;
	}
	s->due = true;
	return 0;
}

static int wait_for_room(struct shard *s, struct err *err)
{
	char why[400];

	if (chore_trim(s, err) < 0)
		return -1;
	if (!publisher_is_full(s->publisher))
		return 0;
	snprintf(why, sizeof(why),
	    "the stream has %" PRId64 " entries, --stream-max-length is %" PRId64 ": %s",
	    publisher_at(s->publisher)->length, s->config->stream_max_length,
	    trim_obstacle(s->trim));
	shard_pause(s, why);
	return 0;
}

/*
 * A session that is silent for too long may be dead, or busy with a tick of millions of rows.  So
 * each time it was, the next one may be silent for twice as long, until all is published.
 */
static void allow_silence(struct shard *s, int64_t ms)
{
	s->silence_ms = ms < DB_SILENCE_MAX_MS ? ms : DB_SILENCE_MAX_MS;
	db_allow_silence(s->db, s->silence_ms);
}

static int publish(struct shard *s, struct err *err)
{
	enum publish_end end;
	int rc = publisher_run(s->publisher, s->lease, clock_mono_us() + PUBLISH_US, &end, err);

	if (stream_id_compare(publisher_at(s->publisher)->expected, s->known) != 0)
		s->healthy = true;
	s->known = publisher_at(s->publisher)->expected;
	if (rc < 0)
		return -1;
	status_length(s->status, publisher_at(s->publisher)->length);
	s->drained = end == PUBLISH_DONE;
	if (s->drained)
		allow_silence(s, DB_SILENCE_MIN_MS);
	switch (end) {
	case PUBLISH_MOVED:
		s->placed = false;
		break;
	case PUBLISH_FULL:
		return wait_for_room(s, err);
	case PUBLISH_TOO_LARGE:
		shard_pause(s, publisher_obstacle(s->publisher));
		break;
	case PUBLISH_DONE:
	case PUBLISH_STOPPED:
		status_paused(s->status, NULL);
		break;
	}
	return 0;
}

static int cut_tick(struct shard *s, enum cut *ret_cut, struct err *err)
{
	int64_t early_us = s->cut_us + s->config->tick_interval_ms * 1000 - clock_mono_us();

	if (early_us > 0 && lease_wait(s->lease, (early_us + 999) / 1000))
		return 0;
	/* Durable: nothing new.  The rows that are visible now join the next tick that is cut. */
	if (FAILPOINT_ERR("relay.before_tick", err) < 0)
		return -1;
	db_drain_wakeups(s->db);
	if (chain_cut(s->db, s->last_tick, s->least_tick, s->config->max_event,
		publisher_batch(s->publisher), ret_cut, &s->last_tick, err) < 0)
		return -1;
	s->due = false;
	s->drained = *ret_cut == CUT_NOTHING;
	if (*ret_cut == CUT_TICK || *ret_cut == CUT_EMPTY)
		publisher_extend(s->publisher, s->last_tick, *ret_cut == CUT_TICK);
	if (*ret_cut != CUT_TICK)
		return 0;
	s->cut_us = clock_mono_us();
	status_tick(s->status);
	/* Durable: the tick, and with it what its batch is.  A restart finds it in the chain behind
	 * the stream's position. */
	return FAILPOINT_ERR("relay.after_tick", err);
}

/* One round: from the position to the end of what is visible. */
static int run_once(struct shard *s, struct err *err)
{
	enum cut cut = CUT_NOTHING;

	if (!s->placed)
		return place_shard(s, err);
	if (chore_run(s, err) < 0)
		return -1;
	if (!s->placed)
		return 0;
	if (!s->drained && publish(s, err) < 0)
		return -1;
	status_progress(s->status);
	reach_answered(s->reach);
	s->healthy = true;
	if (!s->placed || !s->drained || lease_lost(s->lease))
		return 0;
	if (!s->due) {
		status_caught_up(s->status);
		return wait_for_rows(s, err);
	}
	if (cut_tick(s, &cut, err) < 0)
		return -1;
	if (cut == CUT_RACED)
		s->placed = false;
	return 0;
}

static int open_session(struct shard *s, struct err *err)
{
	const struct config *c = s->config;

	if (db_open(c->database_url, s->number, s->silence_ms, &s->db, err) < 0)
		return err_wrap(err, "PostgreSQL");
	status_connected(s->status, true, false);
	if (stream_open(c->redis_url, c->name_space, s->number, c->instance, &s->stream, err) < 0)
		return -1;
	status_connected(s->status, true, true);
	s->publisher = publisher_new(c, s->db, s->stream, s->status);
	s->placed = false;
	return 0;
}

static void close_session(struct shard *s)
{
	publisher_free(s->publisher);
	s->publisher = NULL;
	stream_close(s->stream);
	s->stream = NULL;
	db_close(s->db);
	s->db = NULL;
	status_connected(s->status, false, false);
}

/* It is reached after PostgreSQL. */
static bool is_redis_lost(const struct shard *s)
{
	return s->db && (!s->stream || redis_broken(stream_redis(s->stream)));
}

/* Returns when the lease is lost, or with an error. */
static int run_session(struct shard *s, struct err *err)
{
	int rc = open_session(s, err);

	while (rc == 0 && !lease_lost(s->lease))
		rc = run_once(s, err);
	if (rc < 0 && is_redis_lost(s))
		reach_lost(s->reach);
	if (s->db && db_was_silent(s->db))
		allow_silence(s, 2 * s->silence_ms);
	close_session(s);
	return rc;
}

static bool is_final(const struct err *err)
{
	return err->kind == ERR_FATAL || err->kind == ERR_USAGE || err->kind == ERR_MISMATCH;
}

static void run_sessions(struct shard *s)
{
	unsigned attempt = 0;

	while (!lease_lost(s->lease)) {
		struct err err = ERR_INIT;

		s->healthy = false;
		if (run_session(s, &err) == 0)
			break;
		if (is_final(&err)) {
			service_fail(&err);
			break;
		}
		if (service_stopping()) {
			log_info("publishing ends", lf_shard(s), lf_err(&err));
			break;
		}
		log_warn("publishing is interrupted", lf_shard(s), lf_err(&err));
		status_failed(s->status, &err);
		attempt = s->healthy ? 0 : attempt + 1;
		lease_wait(s->lease, backoff_ms(attempt, BACKOFF_MIN_MS, BACKOFF_MAX_MS, &s->rng));
	}
}

void shard_run(struct lease *lease, void *ctx)
{
	const struct shard_context *context = ctx;
	struct shard s = {.config = context->config,
	    .reach = context->reach,
	    .lease = lease,
	    .number = lease_shard(lease),
	    .known = context->ends[lease_shard(lease)],
	    .silence_ms = DB_SILENCE_MIN_MS};

	rng_seed_random(&s.rng);
	s.status = status_shard(context->status, s.number);
	s.trim = trim_new();
	s.replay = replay_new(s.config->name_space, s.number);
	status_taken(s.status);
	run_sessions(&s);
	context->ends[s.number] = s.known;
	status_released(s.status);
	replay_free(s.replay);
	trim_free(s.trim);
}
