#include "common/redis.h"
#include "relay/shard_private.h"

#define FLOOR_INTERVAL_US (60 * 1000000LL)

static bool is_due(int64_t *due_us, int64_t interval_us)
{
	int64_t now_us = clock_mono_us();

	if (now_us < *due_us)
		return false;
	*due_us = now_us + interval_us;
	return true;
}

/*
 * Trouble with a chore must not keep rows from being published: it is logged, and the chore is due
 * again.  Unless it is trouble that publishing would meet too.
 */
static int attempt(
    struct shard *s, const char *what, int (*chore)(struct shard *, struct err *), struct err *err)
{
	struct err trouble = ERR_INIT;

	if (chore(s, &trouble) == 0)
		return 0;
	if (redis_broken(stream_redis(s->stream)) || trouble.kind == ERR_MISMATCH) {
		*err = trouble;
		return -1;
	}
	log_warn(what, lf_shard(s), lf_err(&trouble));
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
	if (trim_is_done(s->trim))
		publisher_acknowledged(s->publisher, at->own);
	return 0;
}

static int lift_floor(struct shard *s, struct err *err)
{
	return db_run(s->db, DB_LIFT_FLOOR, NULL, NULL, err);
}

static int answer_consumers(struct shard *s, struct err *err)
{
	int64_t last_tick = s->last_tick;
	bool raced = false;
	int rc = replay_run(s->replay, s->db, s->stream, publisher_at(s->publisher)->position,
	    s->least_tick, &s->last_tick, &raced, err);

	/* Also when its answer failed: the tick is there. */
	if (s->last_tick != last_tick) {
		publisher_upto(s->publisher, s->last_tick);
		s->drained = false;
	}
	publisher_promise(s->publisher, replay_promised(s->replay));
	if (rc < 0)
		return -1;
	s->placed = !raced;
	return 0;
}

/* The stream may have been lost or added to while there was nothing to append. */
static int poll_stream(struct shard *s, struct err *err)
{
	struct stream_state state;

	if (stream_look(s->stream, &state, err) < 0)
		return -1;
	publisher_set_length(s->publisher, state.length);
	status_length(s->status, state.length);
	s->placed = state.kind != STREAM_WRONG_TYPE &&
		    stream_id_compare(state.last, publisher_at(s->publisher)->expected) == 0;
	return 0;
}

int chore_trim(struct shard *s, struct err *err)
{
	return attempt(s, "cannot trim", trim, err);
}

int chore_run(struct shard *s, struct err *err)
{
	if (is_due(&s->poll_due_us, s->config->poll_interval_ms * 1000)) {
		if (poll_stream(s, err) < 0)
			return -1;
		if (s->placed &&
		    attempt(s, "cannot answer a request for a replay", answer_consumers, err) < 0)
			return -1;
	}
	if (s->placed && is_due(&s->trim_due_us, s->config->trim_interval_ms * 1000) &&
	    chore_trim(s, err) < 0)
		return -1;
	if (s->number == 0 && is_due(&s->floor_due_us, FLOOR_INTERVAL_US))
		return attempt(s, "cannot lift the floor of transaction ids", lift_floor, err);
	return 0;
}
