/* Entries that are no messages of ours: the cursor goes past them with messages, and waits in front
 * of those behind the last message. */
#include "tests/consumer/stage.h"

#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#define TICK INT64_C(1767225600000)
#define COUNTED "umavez_messages_total{consumer=\"" STAGE_CONSUMER "\",outcome=\"malformed\"} "
#define LAG "umavez_lag_entries{shard=\"0\"} "

/* n entries of one millisecond, at once. */
static void intrude(struct stage *s, int64_t ms, int n)
{
	stage_redis(s, "EVAL %s 1 " STAGE_STREAM " %lld %d",
	    "for i = 1, ARGV[2] do redis.call('XADD', KEYS[1], ARGV[1] .. '-' .. i, 'a', 'b') end",
	    (long long)ms, n);
}

static int64_t calls(struct stage *s, const char *command)
{
	char *stats = stage_redis_text(s, "INFO commandstats");
	char *line = text_format("cmdstat_%s:calls=", command);
	const char *at = strstr(stats, line);
	int64_t n = at ? strtoll(at + strlen(line), NULL, 10) : 0;

	free(line);
	free(stats);
	return n;
}

struct looks {
	struct stage *s;
	int64_t wanted;
};

static bool has_looked(void *ctx)
{
	const struct looks *looks = ctx;

	return calls(looks->s, "xinfo|stream") >= looks->wanted;
}

static bool await_looks(struct stage *s, int n)
{
	struct looks looks = {s, calls(s, "xinfo|stream") + n};

	return await(has_looked, &looks, STAGE_MS);
}

static char *group_field(struct stage *s, const char *field)
{
	return stage_redis_text(s, "EVAL %s 1 " STAGE_STREAM " %s",
	    "local group = redis.call('XINFO', 'GROUPS', KEYS[1])[1] "
	    "for i = 1, #group, 2 do if group[i] == ARGV[1] then return group[i + 1] end end",
	    field);
}

static void check_group(struct stage *s, const char *field, const char *expected)
{
	char *value = group_field(s, field);

	CHECK_STR(value, expected);
	free(value);
}

/* The first ones go one by one, since the consumer has just taken over. */
static void entries_between_messages_are_passed(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = NULL;

	for (int n = 1; n <= 30; n++) {
		stage_add(s, 0, TICK + 10 * n, n);
		intrude(s, TICK + 10 * n + 1, n % 3);
		if (n == 15)
			p = stage_consumer(s, NULL, NULL);
	}
	CHECK(stage_await_cursor(s, "1767225600300-30"));
	CHECK(stage_await_bookmark(s, "1767225600300-30"));
	CHECK(stage_await_effects(s, 30));
	stage_check_effects(s, 30);
	CHECK(stage_await_says(p, "/metrics", COUNTED "30\n"));
	check_group(s, "lag", "0");
	stage_close(s);
}

/* They are looked at again and again, and count once; and nobody is in a hurry. */
static void the_cursor_waits_in_front_of_them(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);
	int64_t reads;

	stage_add(s, 0, TICK, 1);
	intrude(s, TICK + 1, 3);
	CHECK(stage_await_says(p, "/metrics", COUNTED "3\n"));
	CHECK(proc_await_log(p, "passed over entries", STAGE_MS));
	reads = calls(s, "xread");
	CHECK(await_looks(s, 3));
	CHECK(calls(s, "xread") - reads < 60);
	CHECK(stage_await_cursor(s, "1767225600000-1"));
	CHECK(stage_await_bookmark(s, "1767225600000-1"));
	CHECK(stage_says(p, "/metrics", COUNTED "3\n"));
	CHECK(stage_says(p, "/metrics", LAG "0\n"));
	check_group(s, "entries-read", "1");
	stage_add(s, 0, TICK + 2, 2);
	CHECK(stage_await_effects(s, 2));
	CHECK(stage_await_bookmark(s, "1767225600002-2"));
	CHECK(stage_says(p, "/metrics", COUNTED "3\n"));
	check_group(s, "entries-read", "5");
	stage_check_effects(s, 2);
	stage_close(s);
}

/* A message in the place of an entry that was seen there, and another one behind it. */
static void messages_in_their_place_are_read(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);

	stage_add(s, 0, TICK, 1);
	CHECK(stage_await_effects(s, 1));
	for (int n = 2; n <= 20; n += 2) {
		char *counted = text_format(COUNTED "%d\n", n / 2);

		stage_redis(s, "COPY " STAGE_STREAM " saved REPLACE");
		stage_redis(s, "XADD " STAGE_STREAM " %lld-%d some thing", (long long)TICK, n);
		CHECK(stage_await_says(p, "/metrics", counted));
		stage_redis(s, "MULTI");
		stage_redis(s, "COPY saved " STAGE_STREAM " REPLACE");
		stage_add_many(s, TICK, n, n + 1);
		stage_redis(s, "EXEC");
		CHECK(stage_await_effects(s, n + 1));
		free(counted);
	}
	stage_check_effects(s, 21);
	stage_close(s);
}

/* 1300 at once: of those the oldest two batches are too many. */
static void too_many_are_passed(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);

	stage_add(s, 0, TICK, 1);
	CHECK(stage_await_effects(s, 1));
	intrude(s, TICK + 1, 1300);
	CHECK(proc_await_log(p, "the cursor passes the oldest", STAGE_MS));
	CHECK(stage_await_cursor(s, "1767225600001-512"));
	CHECK(stage_await_bookmark(s, "1767225600001-512"));
	CHECK(stage_await_says(p, "/metrics", COUNTED "1300\n"));
	CHECK(await_looks(s, 2));
	CHECK(stage_await_cursor(s, "1767225600001-512"));
	CHECK(stage_says(p, "/metrics", LAG "0\n"));
	stage_add(s, 0, TICK + 2, 2);
	CHECK(stage_await_effects(s, 2));
	CHECK(stage_await_bookmark(s, "1767225600002-2"));
	CHECK(stage_says(p, "/metrics", COUNTED "1300\n"));
	check_group(s, "entries-read", "1302");
	stage_check_effects(s, 2);
	stage_close(s);
}

static const struct check checks[] = {
    {"entries between messages are passed", entries_between_messages_are_passed},
    {"the cursor waits in front of them", the_cursor_waits_in_front_of_them},
    {"messages in their place are read", messages_in_their_place_are_read},
    {"too many are passed", too_many_are_passed},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer foreign", checks, argc, argv);
}
