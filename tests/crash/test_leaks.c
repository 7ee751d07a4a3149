/*
 * Each service, and the operator's tool, under valgrind: started, used, cut off from its servers
 * and stopped.  Nothing that it allocated may be unreachable then, and nothing that it read
 * undefined.
 */
#include "tests/crash/stack.h"
#include "tests/crash/streams.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define NOTIFICATIONS 60
#define SLOW_MS (2 * STACK_WAIT_MS)
#define LEAKED 99

static const char *const valgrind[] = {"valgrind", "--quiet", "--error-exitcode=99",
    "--leak-check=full", "--show-leak-kinds=definite,indirect,possible",
    "--errors-for-leak-kinds=definite,indirect,possible", "--num-callers=30", NULL};

/* Nothing under valgrind does anything within a second. */
static const char *const patient[] = {"--lease", "30s", NULL};

static void get(const struct proc *p, const char *path)
{
	char *url = text_format("%s%s", proc_admin_url(p), path);
	struct http_answer answer;

	http_request("GET", url, NULL, NULL, 0, SLOW_MS, &answer);
	CHECK_INT(answer.status, 200);
	http_answer_done(&answer);
	free(url);
}

static void end(struct proc *p)
{
	int status;

	get(p, "/metrics");
	proc_kill(p, SIGTERM);
	status = proc_wait(p, SLOW_MS);
	if (status != 0)
		file_print_tail(proc_log(p), 20000);
	CHECK_INT(status, 0);
}

static void post_some(struct stack *s, uint64_t seed)
{
	struct load *l = stack_load(s, seed, NOTIFICATIONS, 0);

	CHECK(load_wait(l, SLOW_MS));
	witness_answers(s->world, l);
	load_free(l);
	CHECK(invariants_await(s->world, SLOW_MS));
}

/* What is not a notification, too. */
static void post_nonsense(const struct stack *s)
{
	static const char *const paths[] = {"app-store", "google-play", "stripe", "nobody"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char *url = text_format("%s/webhooks/%s", proc_url(s->producer), paths[i]);
		struct http_answer answer;

		http_request("POST", url, NULL, "{\"a\":[1", 7, SLOW_MS, &answer);
		CHECK(answer.status >= 400);
		http_answer_done(&answer);
		free(url);
	}
}

static void interrupt_servers(struct stack *s)
{
	world_pg_stop(s->world, "immediate");
	world_pg_start(s->world);
	world_redis_stop(s->world, false);
	world_redis_start(s->world, false);
}

static bool all_ready(struct stack *s)
{
	return proc_await_ready(s->producer, SLOW_MS) && proc_await_ready(s->relay, SLOW_MS) &&
	       proc_await_ready(s->consumer, SLOW_MS);
}

static void services_give_everything_back(void)
{
	struct stack s;

	stack_open(&s);
	world_wrap(s.world, valgrind);
	s.producer = stack_producer(&s, NULL, NULL);
	s.relay = stack_relay(&s, patient, NULL);
	s.consumer = stack_consumer(&s, patient, NULL);
	CHECK(all_ready(&s));
	post_some(&s, check_seed());
	post_nonsense(&s);
	interrupt_servers(&s);
	world_redis_run(s.world, "XADD " STREAM " * who knows", 0);
	CHECK(all_ready(&s));
	post_some(&s, check_seed() + 1);
	end(s.consumer);
	end(s.relay);
	end(s.producer);
	stack_check(&s, INVARIANTS_TRIMMED | INVARIANTS_FOREIGN | INVARIANTS_REPEATS);
	stack_close(&s);
}

static int run_tool(struct world *w, const char *const *words, char **ret_err)
{
	const char *args[32];
	size_t n = 0;

	for (size_t i = 0; valgrind[i] != NULL; i++)
		args[n++] = valgrind[i];
	args[n++] = UMAVEZ_BIN_DIR "/umavez";
	for (; *words != NULL; words++)
		args[n++] = *words;
	args[n] = NULL;
	return world_run_all(w, "/usr/bin/env", args, NULL, NULL, ret_err);
}

static void check_tool(struct world *w, const char *const *words, int wanted)
{
	char *err;
	int status = run_tool(w, words, &err);

	if (status != wanted)
		fprintf(stderr, "umavez %s: %s\n", words[0], err);
	free(err);
	CHECK_INT(status, wanted);
}

static void the_tool_gives_everything_back(void)
{
	struct stack s;
	char *id;

	stack_start(&s);
	post_some(&s, check_seed());
	id = world_text(s.world, "SELECT min(notification_id) FROM intake.notification "
				 "WHERE store_purchase_id IS NOT NULL");
	check_tool(s.world, (const char *const[]){"status", NULL}, 0);
	check_tool(s.world, (const char *const[]){"status", "--json", NULL}, 0);
	check_tool(s.world, (const char *const[]){"trace", id, NULL}, 0);
	check_tool(s.world, (const char *const[]){"trace", id, "--json", NULL}, 0);
	check_tool(s.world, (const char *const[]){"trace", "nobody", NULL}, 1);
	/* Of a consumer that does not run: so it stays as it is. */
	world_sql(s.world,
	    "INSERT INTO effects.parked (consumer, source, message_id, subject, shard, stream_id,"
	    " delivered_at, event, state, error, history) SELECT 'c', 's', n, 'x', 0, '1-1', now(),"
	    " '{}', CASE n WHEN 1 THEN 'failed' ELSE 'held' END, 'e', '[{\"start\": 1}]'"
	    " FROM generate_series(1, 3) AS n");
	check_tool(s.world, (const char *const[]){"dead-letter", "list", NULL}, 0);
	check_tool(s.world, (const char *const[]){"dead-letter", "show", "1", NULL}, 0);
	check_tool(s.world, (const char *const[]){"dead-letter", "show", "1", "--json", NULL}, 0);
	check_tool(s.world, (const char *const[]){"dead-letter", "retry", "2", NULL}, 1);
	check_tool(s.world, (const char *const[]){"dead-letter", "retry", "--all", NULL}, 0);
	check_tool(s.world,
	    (const char *const[]){"migrate", "--database-url", world_admin_url(s.world), NULL}, 0);
	check_tool(s.world, (const char *const[]){"--help", NULL}, 0);
	check_tool(s.world, (const char *const[]){"status", "--nonsense", NULL}, 2);
	free(id);
	stack_close(&s);
}

/* The check itself: a program that leaks is caught. */
static void a_leak_is_seen(void)
{
	const char *args[16];
	size_t n = 0;

	for (size_t i = 0; valgrind[i] != NULL; i++)
		args[n++] = valgrind[i];
	args[n++] = UMAVEZ_BIN_DIR "/../tests/leaky";
	args[n] = NULL;
	CHECK_INT(world_run_all(NULL, "/usr/bin/env", args, NULL, NULL, NULL), LEAKED);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a leak is seen", a_leak_is_seen},
	    {"services give everything back", services_give_everything_back},
	    {"the tool gives everything back", the_tool_gives_everything_back},
	    {NULL, NULL},
	};

	return check_main("crash leaks", checks, argc, argv);
}
