#include "tests/consumer/restored.h"

#include "tests/support/text.h"

#include <signal.h>
#include <stdlib.h>

void restored_forget(struct stage *s)
{
	world_sql(s->w, "BEGIN; DELETE FROM stage.log WHERE n > 10;"
			"DELETE FROM effects.inbox WHERE substr(message_id, 2)::int > 10;"
			"UPDATE effects.cursor SET stream_id = '" RESTORED_CURSOR "'; COMMIT");
}

struct stage *restored_open(struct proc **ret_consumer)
{
	struct stage *s = stage_open(1);

	stage_add_many(s, RESTORED_TICK, 1, 20);
	*ret_consumer = stage_consumer(s, NULL, NULL);
	CHECK(stage_await_effects(s, 20));
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	proc_kill(*ret_consumer, SIGTERM);
	CHECK_INT(proc_wait(*ret_consumer, STAGE_MS), 0);
	restored_forget(s);
	return s;
}

void restored_trim(struct stage *s)
{
	stage_redis(s, "XTRIM " STAGE_STREAM " MINID %lld-16", (long long)RESTORED_TICK);
}

struct stage *restored_asking(struct proc **ret_consumer)
{
	struct stage *s = restored_open(ret_consumer);

	restored_trim(s);
	proc_restart(*ret_consumer);
	CHECK(stage_await_field(s, RESTORED_ASK, RESTORED_CURSOR));
	return s;
}

void restored_play(struct stage *s, int64_t tick, int last)
{
	stage_add_many(s, tick, 11, last);
}

void restored_answer(struct stage *s, const char *to, const char *what)
{
	char *text = text_format("%s %s", to, what);

	stage_redis(s, "HSET " STAGE_REPLAY " " RESTORED_ANSWER " %s", text);
	stage_redis(s, "HDEL " STAGE_REPLAY " " RESTORED_ASK);
	free(text);
}
