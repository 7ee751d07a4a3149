/*
 * Every crash point, in the service that owns it: the whole stack works, the service dies there, is
 * started again, may die again, and in the end everything that was accepted has taken effect once.
 */
#include "common/clock.h"
#include "common/failpoint.h"
#include "tests/crash/stack.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *const services[] = {"producer.", "relay.", "consumer.", NULL};

#define ROUNDS 2
#define NOTIFICATIONS 80

/* A point must have been reached after this many hits, whatever it takes: a load is spread over
 * four shards, so that each point is hit at least as often. */
#define MOST_HITS 3

/* The first batch of an owner goes one by one: this many, and there are whole ones. */
#define MOST_HITS_IN_BATCHES 12

/* How long a service that may die once more is waited for: it may as well have nothing to do. */
#define AGAIN_MS 1000

/* Small appends and batches, so that a short load passes every point several times. */
static const char *const relay_args[] = {"--lease", "500ms", "--append-batch", "1",
    "--tick-interval", "50ms", "--trim-interval", "50ms", "--retention-interval", "50ms", NULL};
static const char *const consumer_args[] = {
    "--lease", "500ms", "--batch", "2", "--retry-max", "1s", NULL};

/* Messages are parked, and come out again; none is given up for deaths that are not its fault. */
static const char *const flaky_args[] = {"--lease", "500ms", "--batch", "5", "--handler",
    WITNESS_FLAKY_HANDLER, "--max-attempts", "1000", "--retry-min", "5ms", "--retry-max", "50ms",
    NULL};

struct trial {
	struct stack stack;
	struct rng rng;
	const char *point;
	struct proc *victim;
	uint64_t loads; /* so far: each needs a seed of its own */
	char *hits;     /* "UMAVEZ_FAILPOINT_LOG=<path>" */
};

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static uint64_t below(struct trial *t, uint64_t bound)
{
	return rng_next(&t->rng) % bound;
}

static struct proc *owner(const struct stack *s, const char *point)
{
	if (starts_with(point, "producer."))
		return s->producer;
	return starts_with(point, "relay.") ? s->relay : s->consumer;
}

/* Entries go at trimming; elsewhere all are kept, to be compared with the outbox. */
static bool is_about_trimming(const char *point)
{
	return strcmp(point, "relay.before_trim") == 0;
}

/* The points at which a consumer parks, starts again and releases. */
static bool is_about_parking(const char *point)
{
	static const char *const parts[] = {"_start", "_park", "_release"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(point, parts[i]))
			return true;
	return false;
}

/* env: of all three. */
static void start(struct trial *t, bool keep_streams, const char *const *env)
{
	bool flaky = t->point == NULL || is_about_parking(t->point);
	struct stack *s = &t->stack;

	stack_open(s);
	if (keep_streams)
		stack_keep_streams(s);
	s->producer = stack_producer(s, NULL, env);
	s->relay = stack_relay(s, relay_args, env);
	s->consumer = stack_consumer(s, flaky ? flaky_args : consumer_args, env);
	t->hits = text_format("UMAVEZ_FAILPOINT_LOG=%s/failpoints", world_dir(s->world));
}

static void end(struct trial *t)
{
	free(t->hits);
	stack_close(&t->stack);
}

static bool is_of_batches(const char *point)
{
	return starts_with(point, "consumer.") && !is_about_parking(point) &&
	       strcmp(point, "consumer.after_bookmark") != 0;
}

/* Again, to die at the point, soon. */
static void restart_armed(struct trial *t)
{
	int most = is_of_batches(t->point) ? MOST_HITS_IN_BATCHES : MOST_HITS;
	char *points =
	    text_format("UMAVEZ_FAILPOINTS=%s=crash@%d", t->point, 1 + (int)below(t, most));
	const char *const env[] = {points, t->hits, NULL};

	proc_set_env(t->victim, env);
	proc_restart(t->victim);
	free(points);
}

static void restart_unarmed(struct trial *t)
{
	proc_set_env(t->victim, NULL);
	proc_restart(t->victim);
}

static void one_round(struct trial *t, int round)
{
	int per_second = below(t, 2) == 0 ? 0 : 100;
	struct load *load = stack_load(
	    &t->stack, check_seed() + t->loads++, stack_scaled(NOTIFICATIONS), per_second);
	int status;

	restart_armed(t);
	status = proc_wait(t->victim, STACK_WAIT_MS);
	if (status != 128 + SIGKILL)
		fprintf(stderr, "%s was not reached in round %d: %d\n", t->point, round, status);
	for (uint64_t more = below(t, 3); more > 0; more--) {
		restart_armed(t);
		proc_wait(t->victim, AGAIN_MS);
	}
	restart_unarmed(t);
	stack_finish(&t->stack, load, is_about_trimming(t->point) ? INVARIANTS_TRIMMED : 0);
	CHECK_INT(status, 128 + SIGKILL);
}

static void check_hit(const struct trial *t)
{
	const char *path = strchr(t->hits, '=') + 1;
	char *line = text_format("%s\n", t->point);

	CHECK(file_has(path, line));
	free(line);
}

/* name: one of failpoint_names. */
static void die_at(struct trial *t, const char *const *name)
{
	printf("\n  %s", t->point);
	rng_seed(&t->rng, check_seed() + (uint64_t)(name - failpoint_names));
	t->victim = owner(&t->stack, t->point);
	for (int i = 0; i < stack_scaled(ROUNDS); i++)
		one_round(t, i);
	check_hit(t);
}

/* Whether one world's services do for both points: start() looks at nothing else. */
static bool are_alike(const char *a, const char *b)
{
	return is_about_trimming(a) == is_about_trimming(b) &&
	       is_about_parking(a) == is_about_parking(b);
}

static void die_in(const char *service)
{
	struct trial t = {.point = NULL};

	for (const char *const *name = failpoint_names; *name != NULL; name++) {
		const char *last = t.point;

		if (!starts_with(*name, service))
			continue;
		t.point = *name;
		if (last == NULL || !are_alike(last, *name)) {
			if (last != NULL)
				end(&t);
			start(&t, !is_about_trimming(*name), NULL);
		}
		die_at(&t, name);
	}
	end(&t);
}

static void producer(void)
{
	die_in(services[0]);
}

static void relay(void)
{
	die_in(services[1]);
}

static void consumer(void)
{
	die_in(services[2]);
}

/* So that none is left out above. */
static void every_point_has_a_service(void)
{
	for (const char *const *name = failpoint_names; *name != NULL; name++) {
		bool known = false;

		for (const char *const *service = services; *service != NULL; service++)
			known |= starts_with(*name, *service);
		CHECK(known);
	}
}

/* "<point>=<action>" for every point. */
static char *at_every_point(const char *action)
{
	char *text = text_format("UMAVEZ_FAILPOINTS=");

	for (const char *const *name = failpoint_names; *name != NULL; name++) {
		char *longer = text_format(
		    "%s%s%s=%s", text, name == failpoint_names ? "" : ";", *name, action);

		free(text);
		text = longer;
	}
	return text;
}

static void act_everywhere(const char *action)
{
	char *points = at_every_point(action);
	const char *const env[] = {points, NULL};
	struct trial t = {.point = NULL};

	start(&t, true, env);
	stack_finish(
	    &t.stack, stack_load(&t.stack, check_seed(), stack_scaled(4 * NOTIFICATIONS), 0), 0);
	end(&t);
	free(points);
}

static void errors(void)
{
	act_everywhere("error%0.05");
}

static void delays(void)
{
	act_everywhere("sleep(30)%0.2");
}

/* Again, with other dice: with the same ones it might always die at once. */
static void revive(struct trial *t, struct proc *p, const char *points)
{
	char *seed = text_format("UMAVEZ_SEED=%u", (unsigned)below(t, UINT32_MAX));
	const char *const env[] = {points, seed, NULL};

	proc_set_env(p, points != NULL ? env : NULL);
	proc_restart(p);
	free(seed);
}

static int revive_the_dead(struct trial *t, struct proc *const *all, const char *points)
{
	int deaths = 0;

	for (; *all != NULL; all++) {
		if (proc_alive(*all))
			continue;
		revive(t, *all, points);
		deaths++;
	}
	return deaths;
}

static void deaths(void)
{
	char *points = at_every_point("crash%0.01");
	struct trial t = {.point = NULL};
	int64_t deadline_ms = now_ms() + STACK_WAIT_MS;
	struct load *load;
	int n = 0;

	rng_seed(&t.rng, check_seed());
	start(&t, true, NULL);
	struct proc *const all[] = {t.stack.producer, t.stack.relay, t.stack.consumer, NULL};
	load = stack_load(&t.stack, check_seed(), stack_scaled(4 * NOTIFICATIONS), 50);
	for (int i = 0; all[i] != NULL; i++)
		revive(&t, all[i], points);
	while (load_done(load) < load_deliveries(load) && now_ms() < deadline_ms) {
		n += revive_the_dead(&t, all, points);
		sleep_ms(5);
	}
	for (int i = 0; all[i] != NULL; i++)
		revive(&t, all[i], NULL);
	printf("\n  %d deaths", n);
	stack_finish(&t.stack, load, 0);
	CHECK(n > 0);
	end(&t);
	free(points);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"every point has a service", every_point_has_a_service},
	    {"the producer dies at each of its points", producer},
	    {"the relay dies at each of its points", relay},
	    {"the consumer dies at each of its points", consumer},
	    {"each point kills now and then, in all three at once", deaths},
	    {"each point fails now and then", errors},
	    {"each point takes its time now and then", delays},
	    {NULL, NULL},
	};

	return check_main("crash points", checks, argc, argv);
}
