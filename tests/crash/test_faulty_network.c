/*
 * B51: a network that goes silent, in one way or both, or that becomes slow, between every service
 * and its servers, under load: they notice within a bound, recover alone, and end when told to
 * while it lasts.
 */
#include "tests/crash/stack.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/pause.h"
#include "tests/support/proxy.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* A command to Redis may take 10 s, a round of the lease less; the rest is for a busy machine. */
#define NOTICE_MS 25000
#define RECOVER_MS 30000
/* A worker's statement may go unanswered for 12 s. */
#define SILENT_MS 20000
/* --drain-timeout, and a moment. */
#define LEAVE_MS 15000

enum { PRODUCER, RELAY, CONSUMER, SERVICES };

static const char *const names[SERVICES] = {"producer", "relay", "consumer"};

/* Each service behind proxies of its own. */
struct scene {
	struct stack stack;
	struct proc *services[SERVICES];
	struct proxy *pg[SERVICES], *redis[SERVICES];
	struct load *load;
};

static void start(struct scene *s)
{
	static const char *const quick[] = {"--request-timeout", "3s", NULL};
	struct world *w;

	stack_open(&s->stack);
	stack_keep_streams(&s->stack);
	w = s->stack.world;
	for (int i = 0; i < SERVICES; i++) {
		s->pg[i] = world_pg_proxy(w);
		s->redis[i] = world_redis_proxy(w);
		world_via(w, s->pg[i], s->redis[i]);
		s->services[i] = i == PRODUCER ? stack_producer(&s->stack, quick, NULL)
				 : i == RELAY  ? stack_relay(&s->stack, NULL, NULL)
					       : stack_consumer(&s->stack, NULL, NULL);
		CHECK(proc_await_ready(s->services[i], STACK_WAIT_MS));
	}
	s->stack.producer = s->services[PRODUCER];
	s->load = stack_load(&s->stack, check_seed(), stack_scaled(200), 40);
}

static void finish(struct scene *s)
{
	stack_finish(&s->stack, s->load, 0);
	stack_close(&s->stack);
}

static bool is_unready(void *ctx)
{
	char *url = text_format("%s/readyz", proc_admin_url(ctx));
	struct http_answer answer;
	bool unready;

	http_request("GET", url, NULL, NULL, 0, 5000, &answer);
	unready = answer.status == 503;
	http_answer_done(&answer);
	free(url);
	return unready;
}

/* From the first service that uses the server on. */
static void await_noticed(struct scene *s, int64_t since_ms, int first)
{
	for (int i = first; i < SERVICES; i++) {
		if (!await(is_unready, s->services[i], NOTICE_MS))
			file_print_tail(proc_log(s->services[i]), 4000);
		printf(" %s %lld ms,", names[i], (long long)(now_ms() - since_ms));
		CHECK(is_unready(s->services[i]));
	}
}

static void await_recovered(struct scene *s)
{
	int64_t since_ms = now_ms();

	for (int i = 0; i < SERVICES; i++)
		CHECK(proc_await_ready(s->services[i], RECOVER_MS));
	printf(" ready again after %lld ms", (long long)(now_ms() - since_ms));
}

static void hold(struct proxy *const *proxies, unsigned ways)
{
	for (int i = 0; i < SERVICES; i++)
		proxy_hold(proxies[i], ways);
}

static void postgresql_is_silent(void)
{
	static const struct {
		unsigned ways;
		const char *name;
	} holds[] = {{PROXY_BOTH, "both ways"}, {PROXY_TO_SERVER, "to the server"},
	    {PROXY_TO_CLIENT, "to the client"}};
	struct scene s;

	start(&s);
	for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++) {
		int64_t since_ms = now_ms();

		printf("\n    %s: noticed:", holds[i].name);
		hold(s.pg, holds[i].ways);
		await_noticed(&s, since_ms, PRODUCER);
		hold(s.pg, 0);
		await_recovered(&s);
	}
	finish(&s);
}

/* Scripts are executed, and the relay does not hear of it. */
static void redis_is_silent(void)
{
	int64_t since_ms;
	struct scene s;

	start(&s);
	since_ms = now_ms();
	proxy_hold(s.redis[RELAY], PROXY_TO_CLIENT);
	proxy_hold(s.redis[CONSUMER], PROXY_BOTH);
	await_noticed(&s, since_ms, RELAY);
	hold(s.redis, 0);
	await_recovered(&s);
	finish(&s);
}

/* Connections that look alive, and on which nothing will ever come: a service must leave them.
 * Consumers allow a handler a minute, so those to their database are not among them. */
static void connections_are_forgotten(void)
{
	struct scene s;

	start(&s);
	CHECK(world_await_int(
	    s.stack.world, 1, STACK_WAIT_MS, "SELECT least(count(*), 1) FROM witness.effect"));
	proxy_forget(s.pg[PRODUCER]);
	proxy_forget(s.pg[RELAY]);
	proxy_forget(s.redis[RELAY]);
	proxy_forget(s.redis[CONSUMER]);
	CHECK(load_wait(s.load, RECOVER_MS));
	CHECK(invariants_await(s.stack.world, RECOVER_MS));
	finish(&s);
}

/* The sessions of the shards' workers only: the leases are kept, on another one, and nobody else
 * may take over. */
static void workers_are_forgotten(void)
{
	static const char *const lease[] = {"--lease", "15s", NULL};
	struct proxy *proxy;
	int64_t since_ms;
	struct stack s;
	struct load *l;

	stack_open(&s);
	stack_keep_streams(&s);
	s.producer = stack_producer(&s, NULL, NULL);
	s.consumer = stack_consumer(&s, NULL, NULL);
	proxy = world_pg_proxy(s.world);
	world_via(s.world, proxy, NULL);
	s.relay = stack_relay(&s, lease, NULL);
	l = stack_load(&s, check_seed(), stack_scaled(100), 40);
	CHECK(world_await_int(
	    s.world, 1, STACK_WAIT_MS, "SELECT least(count(*), 1) FROM witness.effect"));
	CHECK_INT(proxy_forget_client(proxy, "umavez-relay/"), 4);
	since_ms = now_ms();
	CHECK(load_wait(l, STACK_WAIT_MS));
	CHECK(invariants_await(s.world, STACK_WAIT_MS));
	printf("\n    all applied %lld ms after that", (long long)(now_ms() - since_ms));
	CHECK(now_ms() - since_ms < SILENT_MS);
	CHECK(!proc_log_has(s.relay, "lease expired"));
	stack_finish(&s, l, 0);
	stack_close(&s);
}

/* A statement that is at work for longer than a dead session is waited for gets its time. */
static void a_slow_read_is_not_silence(void)
{
	struct stack s;
	struct load *l;

	stack_open(&s);
	stack_keep_streams(&s);
	s.producer = stack_producer(&s, NULL, NULL);
	s.consumer = stack_consumer(&s, NULL, NULL);
	world_sql(s.world,
	    "CREATE OR REPLACE FUNCTION intake.tick_cap(of_shard smallint, of_tick bigint)"
	    " RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN"
	    " IF current_query() LIKE '-- The rows of one tick%%' THEN PERFORM pg_sleep(15); END "
	    "IF;"
	    " RETURN 9223372036854775807; END $$");
	/* More than a tick brings with it. */
	l = stack_load(&s, check_seed(), 800, 0);
	CHECK(load_wait(l, STACK_WAIT_MS));
	s.relay = stack_relay(&s, NULL, NULL);
	CHECK(proc_await_log(s.relay, "no answer from the server in time", STACK_WAIT_MS));
	stack_finish(&s, l, 0);
	stack_close(&s);
}

/* Nobody gives up: all is done, later. */
static void everything_is_slow(void)
{
	struct scene s;

	start(&s);
	for (int i = 0; i < SERVICES; i++) {
		proxy_delay(s.pg[i], 50);
		proxy_delay(s.redis[i], 50);
	}
	CHECK(load_await_part(s.load, 0.3, STACK_WAIT_MS));
	for (int i = 0; i < SERVICES; i++) {
		CHECK(proc_await_ready(s.services[i], STACK_WAIT_MS));
		proxy_delay(s.pg[i], 0);
		proxy_delay(s.redis[i], 0);
	}
	finish(&s);
}

/* What the producer took in is kept, or was never answered with 200. */
static void told_to_end_in_silence(void)
{
	struct scene s;
	int64_t since_ms;

	start(&s);
	CHECK(load_await_part(s.load, 0.1, STACK_WAIT_MS));
	hold(s.pg, PROXY_BOTH);
	hold(s.redis, PROXY_BOTH);
	await_noticed(&s, now_ms(), PRODUCER);
	since_ms = now_ms();
	for (int i = 0; i < SERVICES; i++)
		proc_kill(s.services[i], SIGTERM);
	for (int i = 0; i < SERVICES; i++) {
		CHECK_INT(proc_wait(s.services[i], LEAVE_MS), 0);
		printf(" %s ended after %lld ms", names[i], (long long)(now_ms() - since_ms));
	}
	hold(s.pg, 0);
	hold(s.redis, 0);
	for (int i = 0; i < SERVICES; i++)
		proc_restart(s.services[i]);
	finish(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B51 PostgreSQL is silent", postgresql_is_silent},
	    {"B51 Redis is silent", redis_is_silent},
	    {"B51 connections are forgotten", connections_are_forgotten},
	    {"B51 the workers' connections are forgotten", workers_are_forgotten},
	    {"B51 a slow read is not silence", a_slow_read_is_not_silence},
	    {"B51 everything is slow", everything_is_slow},
	    {"B51 told to end in silence", told_to_end_in_silence},
	    {NULL, NULL},
	};

	return check_main("crash faulty_network", checks, argc, argv);
}
