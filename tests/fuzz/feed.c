/* The first byte chooses what the consumer wants; the rest is what its Redis sends. */
#include "consumer/feed.h"
#include "consumer/batch.h"
#include "tests/fuzz/fake_redis.h"

static void look(struct feed *feed, struct err *err)
{
	struct standing standing = {.has_group = false};
	struct stream_size size;

	if (feed_look_at_group(feed, &standing, err) == 0 &&
	    feed_look_at_stream(feed, &standing, &size, err) == 0)
		FUZZ_CHECK(position_next(&standing).action <= POSITION_FORGET);
}

static void read_on(struct feed *feed, struct err *err)
{
	struct batch *batch = NULL;

	if (feed_read(feed, STREAM_ID_ZERO, 10, 0, 1, &batch, err) == 0 && batch)
		FUZZ_CHECK(batch->n + batch->foreign + batch->behind > 0);
	batch_free(batch);
}

static void write_all(struct feed *feed, struct err *err)
{
	bool there;

	if (feed_make_group(feed, err) == 0 &&
	    feed_set_bookmark(feed, STREAM_ID_ZERO, 0, &there, err) == 0 &&
	    feed_ask(feed, STREAM_ID_ZERO, err) == 0)
		(void)!feed_forget(feed, STREAM_ID_ZERO, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const verbs[])(struct feed *, struct err *) = {look, read_on, write_all};
	struct feed_options options = {FAKE_REDIS_URL, "umavez", "entitlements"};
	struct feed *feed = NULL;
	struct err err = ERR_INIT;

	if (size == 0 || !fake_redis_open((struct fuzz_piece){(const char *)data + 1, size - 1}))
		return 0;
	if (feed_open(&options, 0, &feed, &err) == 0)
		verbs[data[0] % 3](feed, &err);
	feed_close(feed);
	fake_redis_close();
	return 0;
}
