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
	struct script answer;
	struct pending pending;
	int64_t promised;
};

struct replay *replay_new(const char *name_space, unsigned shard)
{
	struct replay *r = mem_zalloc(1, sizeof(*r));

	r->shard = shard;
	event_key(r->key, sizeof(r->key), name_space, "replay", shard);
	script_init(&r->answer, relay_answer_lua);
	return r;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	script_done(&r->answer);
	replay_forget(r);
	free(r);
}

void replay_forget(struct replay *r)
{
	free(r->pending.consumer);
	r->pending = (struct pending){.consumer = NULL};
}

int64_t replay_promised(const struct replay *r)
{
	return r->promised;
}

static void remember(struct replay *r, const char *consumer, struct stream_id cursor, int64_t tick)
{
	replay_forget(r);
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
    int64_t tick, struct err *err)
{
	char text[STREAM_ID_SIZE + 24];
	const char *argv[] = {r->key, consumer, asked, text};

	if (tick)
		snprintf(text, sizeof(text), "%s %" PRId64, asked, tick);
	else
		snprintf(text, sizeof(text), "%s none", asked);
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

struct round {
	struct db *db;
	struct stream *stream;
	struct stream_id first;
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

static int answer_one(
    struct replay *r, struct round *round, const char *field, const char *asked, struct err *err)
{
	const char *consumer = field + strlen(ask_prefix);
	struct stream_id cursor, next;
	int64_t tick = 0;

	if (!stream_id_parse(asked, &cursor))
		return ignore(r, round->stream, field, err);
	if (chain_first_after(round->db, cursor, &next, err) < 0)
		return -1;
	if (next.ms != 0 && round->first.ms == 0)
		return 0; /* an empty stream does not tell yet what it will begin with */
	if (next.ms != 0 && stream_id_compare(next, round->first) < 0 &&
	    cut_for(r, round, consumer, cursor, &tick, err) < 0)
		return -1;
	if (round->raced)
		return 0;
	/* Durable: the replay tick.  A restart does not know that it awaits its answer, and cuts
	 * another one. */
	if (answer(r, round->stream, consumer, asked, tick, err) < 0)
		return -1;
	replay_forget(r);
	promise(r, tick);
	return 0;
}

/* "<cursor> <tick>".  One that the chain has not come to yet is no promise of ours. */
static void note_promise(struct replay *r, const struct round *round, const char *text)
{
	const char *space = strchr(text, ' ');
	int64_t tick = space ? strtoll(space + 1, NULL, 10) : 0;

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

int replay_run(struct replay *r, struct db *db, struct stream *stream, struct stream_id first,
    int64_t least_tick, int64_t *last_tick, bool *ret_raced, struct err *err)
{
	struct round round = {db, stream, first, least_tick, last_tick, false};
	redisReply *reply = NULL;
	int rc = -1;

	if (redis_command(stream_redis(stream), &reply, err, "HGETALL %s", r->key) < 0)
		goto done;
	r->promised = 0;
	for (size_t i = 0; i + 1 < reply->elements && !round.raced; i += 2) {
		const char *field = redis_text(reply->element[i]);
		const char *text = redis_text(reply->element[i + 1]);
		if (field && text && run_field(r, &round, field, text, err) < 0)
			goto done;
	}
	*ret_raced = round.raced;
	rc = 0;
done:
	freeReplyObject(reply);
	return rc < 0 ? err_wrap(err, "replay") : 0;
}
