#include "relay/replay.h"

#include "common/event.h"
#include "common/log.h"
#include "common/memory.h"
#include "relay/chain.h"
#include "relay/script.h"
#include "relay_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ask_prefix[] = "ask:", answer_prefix[] = "answer:";

/* A tick that has been cut for a question, and not been given to it yet. */
struct pending {
	char *consumer; /* NULL: there is none */
	struct stream_id cursor;
	int64_t tick;
};

struct replay {
	unsigned shard;
	char key[128];
	struct script answer, revoke;
	struct pending pending;
	int64_t promised;
};

struct replay *replay_new(const char *name_space, unsigned shard)
{
	struct replay *r = mem_zalloc(1, sizeof(*r));

	r->shard = shard;
	event_key(r->key, sizeof(r->key), name_space, "replay", shard);
	script_init(&r->answer, relay_answer_lua);
	script_init(&r->revoke, relay_revoke_lua);
	return r;
}

static void forget(struct replay *r)
{
	free(r->pending.consumer);
	r->pending = (struct pending){.consumer = NULL};
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	script_done(&r->answer);
	script_done(&r->revoke);
	forget(r);
	free(r);
}

int64_t replay_promised(const struct replay *r)
{
	return r->promised;
}

static void remember(struct replay *r, const char *consumer, struct stream_id cursor, int64_t tick)
{
	forget(r);
	r->pending = (struct pending){mem_strdup(consumer), cursor, tick};
}

/* 0: none was cut for it. */
static int64_t recall(const struct replay *r, const char *consumer, struct stream_id cursor)
{
	const struct pending *p = &r->pending;

	if (!p->consumer || strcmp(p->consumer, consumer) != 0 ||
	    stream_id_compare(p->cursor, cursor) != 0)
		return 0;
	return p->tick;
}

static void promise(struct replay *r, int64_t tick)
{
	if (tick > r->promised)
		r->promised = tick;
}

static int answer(struct replay *r, struct stream *stream, const char *consumer, const char *asked,
    const char *what, struct err *err)
{
	char text[STREAM_ID_SIZE + 24];
	const char *argv[] = {r->key, consumer, asked, text};

	snprintf(text, sizeof(text), "%s %s", asked, what);
	log_info("replay", lf_int("shard", r->shard), lf_str("consumer", consumer),
	    lf_str("answer", text));
	return script_run(stream_redis(stream), &r->answer, 1, 4, argv, NULL, err);
}

static int ignore(struct replay *r, struct stream *stream, const char *field, struct err *err)
{
	log_warn("a request for a replay is not a position", lf_int("shard", r->shard),
	    lf_str("field", field));
	return redis_command(stream_redis(stream), NULL, err, "HDEL %s %s", r->key, field);
}

/* Fields and values with a NUL are nobody's: cut off there, they could be somebody else's. */
static const char *whole_text(const redisReply *reply)
{
	const char *text = redis_text(reply);

	return text && strlen(text) == reply->len ? text : NULL;
}

struct round {
	struct db *db;
	struct stream *stream;
	struct stream_id first;     /* of the stream; 0-0: none */
	struct stream_id published; /* up to here */
	int64_t least_tick;
	int64_t *last_tick;
	bool raced;
};

static int cut_for(struct replay *r, struct round *round, const char *consumer,
    struct stream_id cursor, int64_t *ret_tick, struct err *err)
{
	enum cut cut;

	*ret_tick = recall(r, consumer, cursor);
	if (*ret_tick)
		return 0;
	if (chain_branch(round->db, *round->last_tick, round->least_tick, cursor, true, &cut,
		ret_tick, err) < 0)
		return -1;
	round->raced = cut != CUT_TICK;
	if (round->raced)
		return 0;
	*round->last_tick = *ret_tick;
	remember(r, consumer, cursor, *ret_tick);
	return 0;
}

/* All that follows again: "<tick>"; "<tick>-0" if that is nothing. */
static int replay(struct replay *r, struct round *round, const char *consumer, const char *asked,
    struct stream_id cursor, struct err *err)
{
	struct stream_id start, row;
	char what[24];
	int64_t tick;

	if (cut_for(r, round, consumer, cursor, &tick, err) < 0)
		return -1;
	if (round->raced)
		return 0;
	start = (struct stream_id){(uint64_t)tick, 0};
	if (chain_first_after(round->db, start, &row, err) < 0)
		return -1;
	snprintf(what, sizeof(what), row.ms == start.ms ? "%" PRId64 : "%" PRId64 "-0", tick);
	/* Durable: the replay tick.  A restart does not know that it awaits its answer, and cuts
	 * another one. */
	if (answer(r, round->stream, consumer, asked, what, err) < 0)
		return -1;
	forget(r);
	promise(r, tick);
	return 0;
}

/* What stands before it is still to come. */
static int is_ahead(
    const struct round *round, struct stream_id cursor, bool *ret_ahead, struct err *err)
{
	struct stream_id next;

	if (chain_first_after(round->db, round->published, &next, err) < 0)
		return -1;
	*ret_ahead = next.ms != 0 && stream_id_compare(next, cursor) <= 0;
	return 0;
}

static int answer_one(
    struct replay *r, struct round *round, const char *field, const char *asked, struct err *err)
{
	const char *consumer = field + strlen(ask_prefix);
	struct chain_place place;
	struct stream_id cursor;
	bool ahead = false;

	if (!stream_id_parse(asked, &cursor))
		return ignore(r, round->stream, field, err);
	if (round->first.ms == 0)
		return 0; /* an empty stream does not tell yet what it will begin with */
	if (chain_know(round->db, cursor, round->first, &place, err) < 0)
		return -1;
	if (!place.known)
		return answer(r, round->stream, consumer, asked, "start", err);
	if (place.is_void)
		return replay(r, round, consumer, asked, cursor, err);
	if (is_ahead(round, cursor, &ahead, err) < 0 || ahead)
		return ahead ? 0 : -1;
	if (place.lacks)
		return replay(r, round, consumer, asked, cursor, err);
	return answer(r, round->stream, consumer, asked, "none", err);
}

/* The tick of an answer "<cursor> <tick>" or "<cursor> <tick>-0"; 0: there is none in it. */
static int64_t tick_of(const char *text)
{
	const char *space = strchr(text, ' ');

	return space ? strtoll(space + 1, NULL, 10) : 0;
}

/* One that the chain has not come to yet is no promise of ours. */
static void note_promise(struct replay *r, const struct round *round, const char *text)
{
	int64_t tick = tick_of(text);

	if (tick <= *round->last_tick)
		promise(r, tick);
}

static int run_field(
    struct replay *r, struct round *round, const char *field, const char *text, struct err *err)
{
	if (strncmp(field, ask_prefix, strlen(ask_prefix)) == 0)
		return answer_one(r, round, field, text, err);
	if (strncmp(field, answer_prefix, strlen(answer_prefix)) == 0)
		note_promise(r, round, text);
	return 0;
}

int replay_run(struct replay *r, struct db *db, struct stream *stream, struct stream_id published,
    int64_t least_tick, int64_t *last_tick, bool *ret_raced, struct err *err)
{
	struct round round = {.db = db,
	    .stream = stream,
	    .published = published,
	    .least_tick = least_tick,
	    .last_tick = last_tick};
	struct stream_state state = {.kind = STREAM_MISSING};
	redisReply *reply = NULL;
	int rc = -1;

	/* The stream comes after the questions: the bookmark that comes with one keeps others from
	 * trimming further, but until then they may. */
	if (redis_command(stream_redis(stream), &reply, err, "HGETALL %s", r->key) < 0 ||
	    (reply->elements > 0 && stream_look(stream, &state, err) < 0))
		goto done;
	round.first = state.first;
	r->promised = 0;
	for (size_t i = 0; i + 1 < reply->elements && !round.raced; i += 2) {
		const char *field = whole_text(reply->element[i]);
		const char *text = whole_text(reply->element[i + 1]);
		if (field && text && run_field(r, &round, field, text, err) < 0)
			goto done;
	}
	*ret_raced = round.raced;
	rc = 0;
done:
	freeReplyObject(reply);
	return rc < 0 ? err_wrap(err, "replay") : 0;
}

/* Rows of a tick come wherever the stream ends, as long as no repair has made it void, and the
 * database has not lost it. */
static int will_come(struct db *db, int64_t tick, bool *ret_will, struct err *err)
{
	struct stream_id first_row = {(uint64_t)tick, 1};
	struct chain_place place;

	if (chain_know(db, first_row, STREAM_ID_ZERO, &place, err) < 0)
		return -1;
	*ret_will = place.known && !place.is_void;
	return 0;
}

static int is_lasting(struct db *db, const char *text, bool *ret_lasts, struct err *err)
{
	int64_t tick = tick_of(text);

	*ret_lasts = false;
	if (tick == 0 || strchr(strchr(text, ' '), '-'))
		return 0;
	return will_come(db, tick, ret_lasts, err);
}

static int check_pending(struct replay *r, struct db *db, struct err *err)
{
	bool comes;

	if (!r->pending.consumer)
		return 0;
	if (will_come(db, r->pending.tick, &comes, err) < 0)
		return -1;
	if (!comes)
		forget(r);
	return 0;
}

static int revoke_one(struct replay *r, struct db *db, struct stream *stream, const char *field,
    const char *text, struct err *err)
{
	char asked[STREAM_ID_SIZE];
	const char *argv[] = {r->key, field + strlen(answer_prefix), text, asked};
	size_t len = strcspn(text, " ");
	bool lasts = false;

	if (len >= sizeof(asked) || text[len] == '\0')
		return ignore(r, stream, field, err);
	memcpy(asked, text, len);
	asked[len] = '\0';
	if (is_lasting(db, text, &lasts, err) < 0)
		return -1;
	return lasts ? 0 : script_run(stream_redis(stream), &r->revoke, 1, 4, argv, NULL, err);
}

int replay_revoke(struct replay *r, struct db *db, struct stream *stream, struct err *err)
{
	struct err cause = ERR_INIT;
	redisReply *reply = NULL;
	int rc = -1;

	if (check_pending(r, db, err) < 0)
		goto done;
	if (redis_command(stream_redis(stream), &reply, &cause, "HGETALL %s", r->key) < 0) {
		/* There is no answer in it, and rows need none. */
		if (redis_failed_with(stream_redis(stream), "WRONGTYPE"))
			rc = 0;
		else
			*err = cause;
		goto done;
	}
	for (size_t i = 0; i + 1 < reply->elements; i += 2) {
		const char *field = whole_text(reply->element[i]);
		const char *text = whole_text(reply->element[i + 1]);
		if (field && text && strncmp(field, answer_prefix, strlen(answer_prefix)) == 0 &&
		    revoke_one(r, db, stream, field, text, err) < 0)
			goto done;
	}
	rc = 0;
done:
	freeReplyObject(reply);
	return rc < 0 ? err_wrap(err, "replay") : 0;
}
