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

static const char ask_prefix[] = "ask:";

struct replay {
	unsigned shard;
	char key[128];
	struct script answer;
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
	free(r);
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

static int answer_one(
    struct replay *r, struct round *round, const char *field, const char *asked, struct err *err)
{
	struct stream_id cursor, next;
	int64_t tick = 0;
	enum cut cut;

	if (!stream_id_parse(asked, &cursor))
		return ignore(r, round->stream, field, err);
	if (chain_first_after(round->db, cursor, &next, err) < 0)
		return -1;
	if (next.ms != 0 && round->first.ms == 0)
		return 0; /* an empty stream does not tell yet what it will begin with */
	if (next.ms != 0 && stream_id_compare(next, round->first) < 0) {
		if (chain_branch(round->db, *round->last_tick, round->least_tick, cursor, true,
			&cut, &tick, err) < 0)
			return -1;
		round->raced = cut != CUT_TICK;
		if (round->raced)
			return 0;
		*round->last_tick = tick;
	}
	/* Durable: the replay tick.  Without its answer the consumer asks again, and is given
	 * another one. */
	return answer(r, round->stream, field + strlen(ask_prefix), asked, tick, err);
}

int replay_run(struct replay *r, struct db *db, struct stream *stream, struct stream_id first,
    int64_t least_tick, int64_t *last_tick, bool *ret_raced, struct err *err)
{
	struct round round = {db, stream, first, least_tick, last_tick, false};
	redisReply *reply = NULL;
	int rc = -1;

	if (redis_command(stream_redis(stream), &reply, err, "HGETALL %s", r->key) < 0)
		goto done;
	for (size_t i = 0; i + 1 < reply->elements && !round.raced; i += 2) {
		const char *field = reply->element[i]->str;

		if (strncmp(field, ask_prefix, strlen(ask_prefix)) != 0)
			continue;
		if (answer_one(r, &round, field, reply->element[i + 1]->str, err) < 0)
			goto done;
	}
	*ret_raced = round.raced;
	rc = 0;
done:
	freeReplyObject(reply);
	return rc < 0 ? err_wrap(err, "replay") : 0;
}
