/* Small texts, each input read as all of them: base64, stream ID, timestamp, traceparent, replay.
 */
#include "common/clock.h"
#include "common/stream_id.h"
#include "common/traceparent.h"
#include "consumer/position.h"
#include "consumer/timestamp.h"
#include "producer/base64.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/test_jws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A value has one text. */
static void check_base64(const char *text, size_t len, enum base64_form form)
{
	size_t n = 0;
	unsigned char *bytes = base64_decode(text, len, form, &n);
	char *again;

	if (!bytes)
		return;
	again = form == BASE64_URL ? test_base64url(bytes, n) : test_base64(bytes, n);
	FUZZ_CHECK(bytes[n] == '\0' && strlen(again) == len);
	FUZZ_CHECK(len == 0 || memcmp(again, text, len) == 0);
	free(again);
	free(bytes);
}

static void check_stream_id(const char *text)
{
	struct stream_id id, again;
	char formatted[STREAM_ID_SIZE];

	if (!stream_id_parse(text, &id))
		return;
	FUZZ_CHECK(stream_id_parse(stream_id_format(id, formatted), &again));
	FUZZ_CHECK(stream_id_compare(id, again) == 0);
}

static void check_replay(const char *text)
{
	struct replay replay = {.asked = false};

	FUZZ_CHECK(replay_set_ask(&replay, text) == replay.asked);
	FUZZ_CHECK(replay_set_answer(&replay, text) == replay.answered);
	FUZZ_CHECK(!(replay.asked && replay.answered));
}

/* The C library knows the calendar too. */
static void check_timestamp(const char *text, size_t len)
{
	char formatted[CLOCK_RFC3339_SIZE], day[16];
	int64_t ms, again;
	struct tm tm;
	time_t s;

	if (!timestamp_parse(text, len, &ms))
		return;
	FUZZ_CHECK(
	    ms >= -62135683200000 && ms <= 253402387200000); /* offsets reach a day farther */
	s = (time_t)((ms - (ms < 0 ? 999 : 0)) / 1000);
	FUZZ_CHECK(gmtime_r(&s, &tm) && strftime(day, sizeof(day), "%Y-%m-%d", &tm) > 0);
	if (memchr(text, 'Z', len) && !memmem(text, len, ":60", 3))
		FUZZ_CHECK(tm.tm_year + 1900 == atoi(text) && tm.tm_mon + 1 == atoi(text + 5) &&
			   tm.tm_mday == atoi(text + 8));
	if (ms < 0 || ms > 253402300799999)
		return;
	clock_rfc3339(ms, formatted);
	FUZZ_CHECK(timestamp_parse(formatted, strlen(formatted), &again) && again == ms);
}

static void check_traceparent(const char *text, size_t len)
{
	struct traceparent tp, again;
	char formatted[TRACEPARENT_SIZE];

	if (!traceparent_parse(text, len, &tp))
		return;
	traceparent_format(&tp, formatted);
	FUZZ_CHECK(traceparent_parse(formatted, strlen(formatted), &again));
	FUZZ_CHECK(memcmp(formatted + 2, text + 2, TRACEPARENT_SIZE - 3) == 0);
	FUZZ_CHECK(strcmp(tp.trace_id, again.trace_id) == 0 && tp.flags == again.flags);
	FUZZ_CHECK(strcmp(tp.parent_id, again.parent_id) == 0);
	FUZZ_CHECK(
	    tp.trace_id[strspn(tp.trace_id, "0")] && tp.parent_id[strspn(tp.parent_id, "0")]);
	traceparent_child(&tp, &again);
	FUZZ_CHECK(strcmp(tp.trace_id, again.trace_id) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	char *text = fuzz_text((struct fuzz_piece){bytes, size});

	check_base64(bytes, size, BASE64_STANDARD);
	check_base64(bytes, size, BASE64_URL);
	check_stream_id(text);
	check_replay(text);
	check_timestamp(bytes, size);
	check_traceparent(bytes, size);
	free(text);
	return 0;
}
