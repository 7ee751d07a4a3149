#include "relay/shard.h"

#include "common/clock.h"
#include "common/failpoint.h"
#include "common/log.h"
#include "common/service.h"
#include "relay/chain.h"
#include "relay/db.h"
#include "relay/find.h"
#include "relay/publisher.h"
#include "relay/replay.h"
#include "relay/stream.h"
#include "relay/trim.h"

#include <inttypes.h>
#include <stdio.h>

#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 5000
#define FLOOR_INTERVAL_US (60 * 1000000LL)

/* How long publishing may keep everything else waiting. */
#define PUBLISH_US (10 * 1000000LL)

/* How soon a lost lease is noticed while waiting for a wake-up. */
#define WAIT_SLICE_MS 100

struct shard {
	const struct config *config;
	struct shard_status *status;
	struct lease *lease;
	unsigned number;
	struct rng rng;

	/* Kept over sessions. */
	struct stream_id known; /* where the stream was last known to end */
	int64_t trim_due_us, floor_due_us;
	struct trim *trim;
	struct replay *replay;

	/* One session. */
	struct db *db;
	struct stream *stream;
	struct publisher *publisher;
	bool placed;  /* the position is known; what follows belongs to it */
	bool drained; /* nothing in the chain of ticks is left to publish */
	int64_t last_tick, least_tick;
	int64_t poll_due_us;
	int64_t cut_us; /* when the last tick with rows was cut */
	bool healthy;   /* something was achieved: the next failure is the first one */
};

static struct log_field lf_shard(const struct shard *s)
{
	return lf_int("shard", s->number);
}

/* ------------------------------------------------------------------ waiting */

static bool is_due(int64_t *due_us, int64_t interval_us)
{
	int64_t now_us = clock_mono_us();

	if (now_us < *due_us)
		return false;
	*due_us = now_us + interval_us;
	return true;
}

/* Until a wake-up, the next poll, or the end of the lease. */
static int wait_for_rows(struct shard *s, struct err *err)
{
	while (!lease_lost(s->lease)) {
		int64_t left_ms = (s->poll_due_us - clock_mono_us() + 999) / 1000;
		int woken;

		if (left_ms <= 0)
			return 0;
		woken = db_wait(s->db, service_stop_fd(),
		    left_ms < WAIT_SLICE_MS ? left_ms : WAIT_SLICE_MS, err);
		if (woken != 0)
			return woken < 0 ? -1 : 0;
	}
	return 0;
}

/* A shard that waits for somebody else looks again at every poll. */
static void pause_shard(struct shard *s, const char *why)
{
	if (status_paused(s->status, why))
		log_error("publishing is paused", lf_shard(s), lf_str("reason", why));
	lease_wait(s->lease, s->config->poll_interval);
}

static void resume(struct shard *s)
{
	status_paused(s->status, NULL);
}

/* ------------------------------------------------------------------ position */

static void report(struct shard *s, const struct finding *f)
{
	char last[STREAM_ID_SIZE], start[STREAM_ID_SIZE];
	const struct position *p = &f->position;

	stream_id_format(f->stream.last, last);
	stream_id_format(p->start, start);
	if (p->rewind) {
		log_warn("Redis has lost entries: they are published again", lf_shard(s),
		    lf_str("stream_id", last), lf_str("from", start));
		status_rewind(s->status);
	}
	if (p->gap)
		log_error("rows behind the stream's end are no longer retained", lf_shard(s),
		    lf_str("stream_id", last), lf_str("from", start));
	log_info("position", lf_shard(s), lf_str("stream_id", last), lf_str("from", start),
	    lf_int("tick", f->chain.last_tick),
	    lf_str("action", p->action == POSITION_REPAIR ? "repair" : "go on"));
}

/* Their loss would be nobody's: so trouble with the copy stops nothing. */
static int copy_aside(struct shard *s, const struct finding *f, struct err *err)
{
	struct err trouble = ERR_INIT;
	char last[STREAM_ID_SIZE];
	uint64_t copied;

	stream_id_format(f->stream.last, last);
	if (stream_copy_aside(s->stream, f->input.own, f->stream.last, &copied, &trouble) < 0) {
		log_warn("cannot copy foreign entries aside", lf_shard(s), lf_err(&trouble));
		if (redis_broken(stream_redis(s->stream))) {
			*err = trouble;
			return -1;
		}
		return 0;
	}
	if (copied > 0)
		log_error("the stream has entries that are not ours, or no longer in the outbox",
		    lf_shard(s), lf_int("entries", (int64_t)copied), lf_str("stream_id", last));
	status_foreign(s->status, copied);
	return 0;
}

/* *ret_from moves above the stream's end. False in *ret_placed: raced, start over. */
static int repair(struct shard *s, const struct finding *f, struct publish_from *from,
    bool *ret_placed, struct err *err)
{
	int64_t tick = 0;
	enum cut cut;

	if (chain_branch(s->db, f->chain.last_tick, f->least_tick, f->position.start, false, &cut,
		&tick, err) < 0)
		return -1;
	*ret_placed = cut == CUT_TICK;
	if (cut != CUT_TICK)
		return 0;
	log_warn("repair tick", lf_shard(s), lf_int("tick", tick));
	status_repair(s->status);
	s->last_tick = tick;
	from->position = (struct stream_id){(uint64_t)tick, 0};
	return 0;
}

static int place(struct shard *s, const struct finding *f, struct err *err)
{
	struct publish_from from = {.position = f->position.start,
	    .expected = f->stream.last,
	    .own = f->input.own,
	    .length = f->stream.length,
	    .setback = f->position.setback};
	bool placed = true;

	s->last_tick = f->chain.last_tick;
	s->least_tick = f->least_tick;
	if (f->position.action == POSITION_REPAIR && repair(s, f, &from, &placed, err) < 0)
		return -1;
	if (!placed)
		return 0;
	publisher_start(s->publisher, &from);
	s->known = from.expected;
	s->placed = true;
	s->drained = false;
	return 0;
}

static int find(struct shard *s, struct err *err)
{
	char why[200];
	struct finding f;

	if (find_position(s->db, s->stream, s->known, s->config->replay_margin, &f, err) < 0)
		return -1;
	status_length(s->status, f.stream.length);
	if (f.position.action == POSITION_PAUSE) {
		snprintf(why, sizeof(why), "%s: %s", stream_key(s->stream),
		    position_reason_text(f.position.reason));
		pause_shard(s, why);
		return 0;
	}
	report(s, &f);
	if (f.position.aside && copy_aside(s, &f, err) < 0)
		return -1;
	return place(s, &f, err);
}

/* ------------------------------------------------------------------ chores */

/* Trouble with a chore must not keep rows from being published; a broken connection shows anyway.
 */
static int chore(struct shard *s, const char *what, int rc, struct err *err)
{
	if (rc == 0)
		return 0;
	if (redis_broken(stream_redis(s->stream)) || err->kind == ERR_MISMATCH)
		return -1;
	log_warn(what, lf_shard(s), lf_err(err));
	return 0;
}

static int trim(struct shard *s, struct err *err)
{
	const struct publish_from *at = publisher_at(s->publisher);
	int64_t removed;

	if (trim_run(s->trim, s->db, s->stream, at->own, &removed, err) < 0)
		return -1;
	if (removed > 0)
		log_debug("trimmed", lf_shard(s), lf_int("entries", removed));
	status_trimmed(s->status, removed);
	publisher_set_length(s->publisher, at->length - removed);
	return 0;
}

static int lift_floor(struct shard *s, struct err *err)
{
	return db_run(s->db, DB_LIFT_FLOOR, NULL, NULL, err);
}

/* Once a poll: is the stream still what we know, and does anybody ask for rows again? */
static int poll_stream(struct shard *s, struct err *err)
{
	const struct publish_from *at = publisher_at(s->publisher);
	int64_t last_tick = s->last_tick;
	struct stream_state state;
	bool raced = false;

	if (stream_look(s->stream, &state, err) < 0)
		return -1;
	publisher_set_length(s->publisher, state.length);
	status_length(s->status, state.length);
	if (state.kind == STREAM_WRONG_TYPE || stream_id_compare(state.last, at->expected) != 0) {
		s->placed = false;
		return 0;
	}
	if (chore(s, "cannot answer a request for a replay",
		replay_run(s->replay, s->db, s->stream, state.first, s->least_tick, &s->last_tick,
		    &raced, err),
		err) < 0)
		return -1;
	s->placed = !raced;
	s->drained = s->drained && s->last_tick == last_tick;
	return 0;
}

static int do_chores(struct shard *s, struct err *err)
{
	if (is_due(&s->poll_due_us, s->config->poll_interval * 1000) && poll_stream(s, err) < 0)
		return -1;
	if (s->placed && is_due(&s->trim_due_us, s->config->trim_interval * 1000) &&
	    chore(s, "cannot trim", trim(s, err), err) < 0)
		return -1;
	if (s->number == 0 && is_due(&s->floor_due_us, FLOOR_INTERVAL_US) &&
	    chore(s, "cannot lift the floor of transaction ids", lift_floor(s, err), err) < 0)
		return -1;
	return 0;
}

/* ------------------------------------------------------------------ the loop */

static int wait_for_room(struct shard *s, struct err *err)
{
	char why[400];

	if (chore(s, "cannot trim", trim(s, err), err) < 0)
		return -1;
	if (publisher_at(s->publisher)->length <= s->config->stream_max_length)
		return 0;
	snprintf(why, sizeof(why),
	    "the stream has %" PRId64 " entries, --stream-max-length is %" PRId64 ": %s",
	    publisher_at(s->publisher)->length, s->config->stream_max_length,
	    trim_obstacle(s->trim));
	pause_shard(s, why);
	return 0;
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
	switch (end) {
	case PUBLISH_MOVED:
		s->placed = false;
		break;
	case PUBLISH_FULL:
		return wait_for_room(s, err);
	case PUBLISH_TOO_LARGE:
		pause_shard(s, publisher_obstacle(s->publisher));
		break;
	case PUBLISH_DONE:
		resume(s);
		break;
	case PUBLISH_STOPPED:
		break;
	}
	return 0;
}

static int cut_tick(struct shard *s, enum cut *ret_cut, struct err *err)
{
	int64_t early_us = s->cut_us + s->config->tick_interval * 1000 - clock_mono_us();

	if (early_us > 0 && lease_wait(s->lease, (early_us + 999) / 1000))
		return 0;
	/* Durable: nothing new.  The rows that are visible now join the next tick that is cut. */
	if (FAILPOINT_ERR("relay.before_tick", err) < 0)
		return -1;
	db_drain_wakeups(s->db);
	if (chain_cut(s->db, s->last_tick, s->least_tick, ret_cut, &s->last_tick, err) < 0)
		return -1;
	s->drained = *ret_cut == CUT_NOTHING;
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
		return find(s, err);
	if (do_chores(s, err) < 0)
		return -1;
	if (!s->placed)
		return 0;
	if (!s->drained && publish(s, err) < 0)
		return -1;
	status_progress(s->status);
	s->healthy = true;
	if (!s->placed || !s->drained || lease_lost(s->lease))
		return 0;
	if (cut_tick(s, &cut, err) < 0)
		return -1;
	if (cut == CUT_RACED)
		s->placed = false;
	if (cut != CUT_NOTHING)
		return 0;
	status_caught_up(s->status);
	return wait_for_rows(s, err);
}

static int open_session(struct shard *s, struct err *err)
{
	const struct config *c = s->config;

	if (db_open(c->database_url, s->number, &s->db, err) < 0)
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

/* Returns when the lease is lost, or with an error. */
static int run_session(struct shard *s, struct err *err)
{
	int rc = open_session(s, err);

	while (rc == 0 && !lease_lost(s->lease))
		rc = run_once(s, err);
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
		log_warn("publishing is interrupted", lf_shard(s), lf_err(&err));
		status_failed(s->status, &err);
		attempt = s->healthy ? 0 : attempt + 1;
		lease_wait(s->lease, backoff_ms(attempt, BACKOFF_MIN_MS, BACKOFF_MAX_MS, &s->rng));
	}
}

void shard_run(struct lease *lease, void *ctx)
{
	const struct shard_context *context = ctx;
	struct shard s = {.config = context->config, .lease = lease, .number = lease_shard(lease)};
	uint64_t seed;

	random_bytes(&seed, sizeof(seed));
	rng_seed(&s.rng, seed);
	s.status = status_shard(context->status, s.number);
	s.trim = trim_new();
	s.replay = replay_new(s.config->name_space, s.number);
	status_taken(s.status);
	run_sessions(&s);
	status_released(s.status);
	replay_free(s.replay);
	trim_free(s.trim);
}
