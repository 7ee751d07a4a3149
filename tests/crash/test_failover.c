/*
 * PostgreSQL fails over to a synchronous standby, under load, and back: services that know both
 * addresses find the one that takes writes, and nothing that was answered is lost.
 */
#include "tests/crash/stack.h"

#define NOTIFICATIONS 400
#define PER_SECOND 100

static void there_and_back(void)
{
	struct stack s;
	struct load *l;

	stack_open(&s);
	world_pg_add_standby(s.world);
	stack_keep_streams(&s);
	s.producer = stack_producer(&s, NULL, NULL);
	s.relay = stack_relay(&s, NULL, NULL);
	s.consumer = stack_consumer(&s, NULL, NULL);
	l = stack_load(&s, check_seed(), stack_scaled(NOTIFICATIONS), PER_SECOND);
	for (int i = 1; i < 4; i++) {
		CHECK(load_await_part(l, 0.25 * i, STACK_WAIT_MS));
		world_pg_failover(s.world);
	}
	CHECK(proc_await_ready(s.producer, STACK_WAIT_MS));
	CHECK(proc_await_ready(s.relay, STACK_WAIT_MS));
	CHECK(proc_await_ready(s.consumer, STACK_WAIT_MS));
	stack_finish(&s, l, 0);
	stack_close(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"PostgreSQL fails over, there and back", there_and_back},
	    {NULL, NULL},
	};

	return check_main("crash failover", checks, argc, argv);
}
