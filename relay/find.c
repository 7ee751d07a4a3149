#include "relay/find.h"

#include "common/event.h"

/* Pages of the scan for our newest entry: it is nearly always the last one, and one entry may be as
 * large as an event. */
enum { FIRST_PAGE = 1, LARGEST_PAGE = 128 };

/* Looks at one page from *upto down. *upto becomes 0-0 when there is no more to look at. */
static int scan_page(struct db *db, struct stream *stream, unsigned count, struct stream_id *upto,
    struct position_input *in, struct err *err)
{
	redisReply *page = NULL;
	struct stream_id id;
	int own, stray, rc = -1;

	if (stream_page_back(stream, *upto, count, &page, err) < 0)
		goto done;
	if (chain_find_own(db, page, &own, &stray, err) < 0)
		goto done;
	if (stray >= 0 && (own < 0 || stray < own) && in->stray.ms == 0 &&
	    !event_entry_id(page->element[stray], &in->stray)) {
		err_set(err, ERR_RETRY, "Redis: XREVRANGE: unexpected reply");
		goto done;
	}
	if (own >= 0) {
		if (!event_entry_id(page->element[own], &in->own)) {
			err_set(err, ERR_RETRY, "Redis: XREVRANGE: unexpected reply");
			goto done;
		}
		in->above += (uint64_t)own;
		*upto = STREAM_ID_ZERO;
	} else {
		in->above += page->elements;
		*upto = page->elements == count && event_entry_id(page->element[count - 1], &id)
			    ? stream_id_before(id)
			    : STREAM_ID_ZERO;
	}
	rc = 0;
done:
	freeReplyObject(page);
	return rc;
}

static int scan_back(
    struct db *db, struct stream *stream, struct position_input *in, struct err *err)
{
	struct stream_id upto = in->last;

	for (unsigned count = FIRST_PAGE; upto.ms != 0 || upto.seq != 0;) {
		if (scan_page(db, stream, count, &upto, in, err) < 0)
			return -1;
		count = count * 4 > LARGEST_PAGE ? LARGEST_PAGE : count * 4;
	}
	return 0;
}

/* Entries may be lost between the look and the scan, which then misses ours: it would seem that all
 * that is left to publish lies below the stream's end. */
static int look_at_stream(struct db *db, struct stream *stream, struct finding *f, struct err *err)
{
	struct position_input *in = &f->input;
	struct stream_state after;

	if (stream_look(stream, &after, err) < 0)
		return -1;
	do {
		f->stream = after;
		in->kind = f->stream.kind;
		in->last = f->stream.last;
		in->own = in->stray = STREAM_ID_ZERO;
		in->above = 0;
		if (scan_back(db, stream, in, err) < 0)
			return -1;
		if (stream_id_compare(in->own, in->last) == 0)
			return 0;
		if (stream_look(stream, &after, err) < 0)
			return -1;
	} while (stream_id_compare(after.last, in->last) < 0);
	return 0;
}

/* A group may have been set to any position; one that no clock could give does not name our ticks.
 */
static int64_t least_tick(const struct finding *f)
{
	uint64_t bound = (uint64_t)(f->chain.now_ms + POSITION_FUTURE_MS),
		 least = f->stream.last.ms;

	if (f->stream.furthest.ms > least && f->stream.furthest.ms <= bound)
		least = f->stream.furthest.ms;
	return least >= INT64_MAX ? INT64_MAX : (int64_t)least + 1;
}

int find_position(struct db *db, struct stream *stream, struct stream_id known, int64_t margin_ms,
    struct finding *ret_finding, struct err *err)
{
	struct finding f = {.input = {.known = known, .margin_ms = margin_ms}};
	struct position_input *in = &f.input;

	if (redis_check_master(stream_redis(stream), err) < 0 ||
	    look_at_stream(db, stream, &f, err) < 0)
		return err_wrap(err, "find position");

	/* After the stream: a tick is cut before its entries are there. */
	if (chain_look(db, &f.chain, err) < 0)
		return err_wrap(err, "find position");
	in->oldest = f.chain.oldest;
	in->released = f.chain.released;
	in->has_acknowledged = f.chain.has_acknowledged;
	in->acknowledged = f.chain.acknowledged;
	in->now_ms = f.chain.now_ms;
	if (chain_first_after(db, position_start(in), &in->unpublished, err) < 0)
		return err_wrap(err, "find position");

	f.position = position_decide(in);
	f.least_tick = least_tick(&f);
	*ret_finding = f;
	return 0;
}
