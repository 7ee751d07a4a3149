/*
 * The connection ends between a COMMIT, or an append, and its answer: what was done is found out,
 * and neither lost nor done again.
 */
#include "tests/crash/stack.h"
#include "tests/support/proxy.h"

#include <stdio.h>

#define CUTS 20

/* Of the service under test; the two others reach their servers directly. */
struct scene {
	struct stack stack;
	struct proxy *pg, *redis;
	struct load *load; /* posted one by one */
	int posted, cuts;
};

static void start(struct scene *s)
{
	struct load_options options = {.seed = check_seed()};

	*s = (struct scene){.cuts = stack_scaled(CUTS)};
	options.notifications = 2 * s->cuts;
	stack_open(&s->stack);
	stack_keep_streams(&s->stack);
	s->pg = world_pg_proxy(s->stack.world);
	s->redis = world_redis_proxy(s->stack.world);
	s->load = load_new(&options, world_signer(s->stack.world));
}

static void start_services(struct scene *s, bool producer, bool relay, bool consumer)
{
	struct world *w = s->stack.world;

	world_via(w, producer ? s->pg : NULL, NULL);
	/* One thread: whatever is ready answers. */
	s->stack.producer =
	    stack_producer(&s->stack, (const char *const[]){"--threads", "1", NULL}, NULL);
	world_via(w, relay ? s->pg : NULL, relay ? s->redis : NULL);
	s->stack.relay = stack_relay(&s->stack, NULL, NULL);
	world_via(w, consumer ? s->pg : NULL, consumer ? s->redis : NULL);
	s->stack.consumer = stack_consumer(&s->stack, NULL, NULL);
	CHECK(proc_await_ready(s->stack.producer, STACK_WAIT_MS));
	CHECK(proc_await_ready(s->stack.relay, STACK_WAIT_MS));
	CHECK(proc_await_ready(s->stack.consumer, STACK_WAIT_MS));
}

static void finish(struct scene *s)
{
	printf("\n    %d cuts", proxy_answers_cut(s->pg) + proxy_answers_cut(s->redis));
	witness_answers(s->stack.world, s->load);
	stack_check(&s->stack, 0);
	CHECK_INT(world_int(s->stack.world, "SELECT count(*) FROM witness.effect"), s->posted);
	load_free(s->load);
	stack_close(&s->stack);
}

static int post(struct scene *s, int i)
{
	return load_post(s->load, i, proc_url(s->stack.producer));
}

/* Sessions that were cut need a moment until they are back. */
struct repeated {
	struct scene *scene;
	int i;
};

static bool is_taken(void *ctx)
{
	const struct repeated *r = ctx;

	return post(r->scene, r->i) == 200;
}

static void the_producers_commit(void)
{
	struct scene s;

	start(&s);
	start_services(&s, true, false, false);
	for (int i = 0; i < s.cuts; i++, s.posted++) {
		struct repeated again = {&s, i};

		CHECK(proc_await_ready(s.stack.producer, STACK_WAIT_MS));
		proxy_cut_answer(s.pg, "intake.receive", i % 2 ? PROXY_KEEP_ALL : PROXY_KEEP_END);
		CHECK_INT(post(&s, i), 503);
		CHECK_INT(proxy_answers_cut(s.pg), i + 1);
		CHECK(await(is_taken, &again, STACK_WAIT_MS));
		CHECK_INT(load_at(s.load, i)->duplicates, 1);
	}
	finish(&s);
}

struct mark {
	struct proxy *proxy;
	int cuts;
};

static bool is_cut(void *ctx)
{
	const struct mark *mark = ctx;

	return proxy_answers_cut(mark->proxy) == mark->cuts;
}

/* One notification that the service deals with, and is not told so. */
static void cut_one(struct scene *s, struct proxy *p, const char *pattern)
{
	struct mark mark = {p, proxy_answers_cut(p) + 1};

	proxy_cut_answer(p, pattern, s->posted % 2 ? PROXY_KEEP_ALL : PROXY_KEEP_END);
	CHECK_INT(post(s, s->posted), 200);
	s->posted++;
	CHECK(await(is_cut, &mark, STACK_WAIT_MS));
}

static void the_relays_tick_and_append(void)
{
	struct scene s;

	start(&s);
	start_services(&s, false, true, false);
	for (int i = 0; i < s.cuts; i++) {
		cut_one(&s, s.pg, "tick");
		if (i % 2)
			cut_one(&s, s.redis, "EVAL");
	}
	finish(&s);
}

static void the_consumers_commit_and_bookmark(void)
{
	struct scene s;

	start(&s);
	start_services(&s, false, false, true);
	for (int i = 0; i < s.cuts; i++) {
		cut_one(&s, s.pg, "COMMIT");
		if (i % 4 == 0)
			cut_one(&s, s.redis, "XGROUP");
	}
	finish(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"the producer's COMMIT: 503, and 200 for the repeated post", the_producers_commit},
	    {"the relay's tick, and its append", the_relays_tick_and_append},
	    {"the consumer's COMMIT, and its bookmark", the_consumers_commit_and_bookmark},
	    {NULL, NULL},
	};

	return check_main("crash cut_answers", checks, argc, argv);
}
