#include "common/redis.h"
#include "relay/find.h"
#include "relay/shard_private.h"

#include <stdio.h>

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

static int note_gap(struct shard *s, const struct finding *f, struct err *err)
{
	bool empty = stream_id_compare(f->stream.last, STREAM_ID_ZERO) == 0;

	return chain_note_gap(
	    s->db, empty ? f->chain.acknowledged : f->stream.last, f->chain.oldest, err);
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

static int take_place(struct shard *s, const struct finding *f, struct err *err)
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
	if (replay_revoke(s->replay, s->db, s->stream, err) < 0)
		return -1;
	publisher_start(s->publisher, &from, s->last_tick);
	s->known = from.expected;
	s->placed = true;
	s->drained = false;
	s->due = true;
	return 0;
}

int place_shard(struct shard *s, struct err *err)
{
	char why[200];
	struct finding f;

	if (find_position(s->db, s->stream, s->known, s->config->replay_margin_ms, &f, err) < 0)
		return -1;
	status_length(s->status, f.stream.length);
	if (f.position.action == POSITION_PAUSE) {
		snprintf(why, sizeof(why), "%s: %s", stream_key(s->stream),
		    position_reason_text(f.position.reason));
		shard_pause(s, why);
		return 0;
	}
	report(s, &f);
	if (f.position.gap && note_gap(s, &f, err) < 0)
		return -1;
	if (f.position.aside && copy_aside(s, &f, err) < 0)
		return -1;
	return take_place(s, &f, err);
}
