#include "relay/publisher.h"

#include "common/clock.h"
#include "common/failpoint.h"
#include "common/memory.h"
#include "relay/outbox.h"

#include <assert.h>
#include <stdlib.h>

/* How long a query may stay open while Redis makes us wait: open, it holds back vacuum everywhere.
 */
#define PATIENCE_MS 200

struct publisher {
	const struct config *config;
	struct stream *stream;
	struct shard_status *status;
	struct outbox *outbox;
	struct batch *batches[2];
	struct publish_from at;
	int64_t promised; /* a tick, as publisher_promise() set it */
	struct stream_id acknowledged;
	int64_t sent_us;
};

struct publisher *publisher_new(
    const struct config *config, struct db *db, struct stream *stream, struct shard_status *status)
{
	struct publisher *p = mem_zalloc(1, sizeof(*p));

	p->config = config;
	p->stream = stream;
	p->status = status;
	p->outbox = outbox_new(db, config->max_event);
	for (int i = 0; i < 2; i++)
		p->batches[i] = batch_new((size_t)config->append_batch);
	return p;
}

void publisher_free(struct publisher *p)
{
	if (!p)
		return;
	outbox_free(p->outbox);
	batch_free(p->batches[0]);
	batch_free(p->batches[1]);
	free(p);
}

void publisher_start(struct publisher *p, const struct publish_from *from, int64_t last_tick)
{
	p->at = *from;
	/* Rows that came with a tick are behind others now. */
	batch_clear(p->batches[0]);
	outbox_seek(p->outbox, from->position);
	outbox_upto(p->outbox, last_tick);
}

void publisher_upto(struct publisher *p, int64_t last_tick)
{
	outbox_upto(p->outbox, last_tick);
}

void publisher_extend(struct publisher *p, int64_t tick, bool has_rows)
{
	struct batch *rows = p->batches[0];
	struct stream_id last = batch_rows(rows) > 0 ? batch_last(rows) : STREAM_ID_ZERO;

	if (!outbox_extend(p->outbox, tick, has_rows, last))
		batch_clear(rows);
}

struct batch *publisher_batch(struct publisher *p)
{
	assert(batch_rows(p->batches[0]) == 0);
	return p->batches[0];
}

const struct publish_from *publisher_at(const struct publisher *p)
{
	return &p->at;
}

void publisher_set_length(struct publisher *p, int64_t length)
{
	p->at.length = length;
}

void publisher_promise(struct publisher *p, int64_t tick)
{
	p->promised = tick;
}

void publisher_acknowledged(struct publisher *p, struct stream_id own)
{
	p->acknowledged = own;
}

bool publisher_is_full(const struct publisher *p)
{
	return p->at.length > p->config->stream_max_length &&
	       p->at.expected.ms >= (uint64_t)p->promised &&
	       stream_id_compare(p->acknowledged, p->at.own) != 0;
}

static int send_batch(struct publisher *p, const struct batch *batch, struct err *err)
{
	/* Durable: the tick, and a part of its entries in Redis.  A restart finds the last of them
	 * to be its position, and goes on in the middle of the tick. */
	if (batch_first(batch).ms == p->at.expected.ms && FAILPOINT_ERR("relay.mid_tick", err) < 0)
		return -1;
	/* Durable: the tick.  A restart finds the position from the stream and reads the same rows
	 * under the same IDs. */
	if (FAILPOINT_ERR("relay.before_append", err) < 0)
		return -1;
	p->sent_us = clock_mono_us();
	return stream_append_send(p->stream, batch, p->at.expected, p->at.setback, err);
}

/* The reply to the append in flight. */
static int receive_reply(
    struct publisher *p, const struct batch *batch, bool *ret_moved, struct err *err)
{
	struct append_result result;

	if (stream_append_wait(p->stream, PATIENCE_MS) == 0)
		outbox_rest(p->outbox);
	if (stream_append_receive(p->stream, &result, err) < 0)
		return -1;
	*ret_moved = result.moved;
	if (result.moved)
		return 0;
	/* Durable: the entries in Redis.  A restart reads its position from the stream and goes on
	 * behind them. */
	if (FAILPOINT_ERR("relay.after_append", err) < 0)
		return -1;
	p->at = (struct publish_from){.position = result.last,
	    .expected = result.last,
	    .own = result.last,
	    .length = result.length};
	status_appended(p->status, batch_rows(batch), (double)(clock_mono_us() - p->sent_us) / 1e6,
	    batch_oldest(batch));
	return 0;
}

static enum publish_end nothing_to_send(const struct publisher *p)
{
	return outbox_obstacle(p->outbox) ? PUBLISH_TOO_LARGE : PUBLISH_DONE;
}

static bool may_send(const struct publisher *p, const struct batch *next, const struct lease *lease,
    int64_t until_us, enum publish_end *ret_end)
{
	if (batch_rows(next) == 0)
		*ret_end = nothing_to_send(p);
	else if (publisher_is_full(p))
		*ret_end = PUBLISH_FULL;
	else if (lease_lost(lease) || clock_mono_us() >= until_us)
		*ret_end = PUBLISH_STOPPED;
	else
		return true;
	return false;
}

/* Rows that were read and not sent are to be read again. */
static void step_back(struct publisher *p, enum publish_end end)
{
	batch_clear(p->batches[0]);
	batch_clear(p->batches[1]);
	if (end == PUBLISH_DONE)
		return;
	outbox_rest(p->outbox);
	outbox_seek(p->outbox, p->at.position);
}

int publisher_run(struct publisher *p, const struct lease *lease, int64_t until_us,
    enum publish_end *ret_end, struct err *err)
{
	struct batch *flying = NULL, *next = p->batches[0];
	bool moved = false;

	for (;;) {
		/* It has rows if they came with their tick. */
		if (batch_rows(next) == 0 && outbox_fill(p->outbox, next, err) < 0)
			return -1;
		if (flying && receive_reply(p, flying, &moved, err) < 0)
			return -1;
		if (moved) {
			*ret_end = PUBLISH_MOVED;
			break;
		}
		/* The first batch is sent however long it took to read: given up, it would be read
		 * for as long again, and again. */
		if (!may_send(p, next, lease, flying ? until_us : INT64_MAX, ret_end))
			break;
		if (send_batch(p, next, err) < 0)
			return -1;
		flying = next;
		next = p->batches[next == p->batches[0]];
		batch_clear(next);
	}
	step_back(p, *ret_end);
	return 0;
}

const char *publisher_obstacle(const struct publisher *p)
{
	return outbox_obstacle(p->outbox);
}
