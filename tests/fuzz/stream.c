/* The first byte chooses what the relay wants; the rest is what its Redis sends. */
#include "relay/stream.h"
#include "tests/fuzz/fake_redis.h"

#include <string.h>

static void look(struct stream *stream, struct err *err)
{
	struct stream_state state;

	if (redis_check_master(stream_redis(stream), err) == 0 &&
	    stream_look(stream, &state, err) == 0)
		FUZZ_CHECK((state.kind == STREAM_PRESENT) == (strcmp(state.type, "stream") == 0));
}

static void append(struct stream *stream, struct err *err)
{
	struct batch *none = batch_new(1);
	struct append_result result;

	if (stream_append_send(stream, none, STREAM_ID_ZERO, false, err) == 0 &&
	    stream_append_receive(stream, &result, err) == 0)
		FUZZ_CHECK(!result.moved || result.length == 0);
	batch_free(none);
}

static void copy_aside(struct stream *stream, struct err *err)
{
	uint64_t copied = 0;

	if (stream_copy_aside(stream, STREAM_ID_ZERO, STREAM_ID_ZERO, &copied, err) == 0)
		FUZZ_CHECK(copied <= INT64_MAX);
}

static void page_back(struct stream *stream, struct err *err)
{
	redisReply *page = NULL;

	if (stream_page_back(stream, STREAM_ID_ZERO, 1, &page, err) == 0)
		freeReplyObject(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const verbs[])(struct stream *, struct err *) = {
	    look, append, copy_aside, page_back};
	struct stream *stream = NULL;
	struct err err = ERR_INIT;

	if (size == 0 || !fake_redis_open((struct fuzz_piece){(const char *)data + 1, size - 1}))
		return 0;
	if (stream_open(FAKE_REDIS_URL, "umavez", 0, "relay", &stream, &err) == 0)
		verbs[data[0] % 4](stream, &err);
	stream_close(stream);
	fake_redis_close();
	return 0;
}
