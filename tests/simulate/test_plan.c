/*
 * Who dies when is what the seed says, and what cannot be understood is refused.
 */
#include "simulate/plan.h"
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

static struct option_list list(char **values, size_t n)
{
	return (struct option_list){n, values};
}

static void make(const struct config *config, uint64_t seed, struct plan *plan)
{
	struct err err = ERR_INIT;

	CHECK_INT(plan_make(config, seed, plan, &err), 0);
}

static bool same_kills(const struct plan *a, const struct plan *b)
{
	bool same = a->n_kills == b->n_kills;

	for (size_t i = 0; same && i < a->n_kills; i++)
		same = a->kills[i].service == b->kills[i].service &&
		       a->kills[i].part == b->kills[i].part &&
		       a->kills[i].pause_ms == b->kills[i].pause_ms;
	return same;
}

static void same_seed_same_plan(void)
{
	struct config config = {.kill_random = 20};
	struct plan a, b, c;

	make(&config, check_seed(), &a);
	make(&config, check_seed(), &b);
	make(&config, check_seed() + 1, &c);
	CHECK(same_kills(&a, &b));
	CHECK(!same_kills(&a, &c));
	plan_done(&a);
	plan_done(&b);
	plan_done(&c);
}

static void kills_are_in_order_and_of_all_services(void)
{
	struct config config = {.kill_random = 200};
	bool seen[SERVICES] = {false};
	struct plan plan;

	make(&config, check_seed(), &plan);
	CHECK_INT(plan.n_kills, 200);
	for (size_t i = 0; i < plan.n_kills; i++) {
		CHECK(plan.kills[i].part >= 0 && plan.kills[i].part < 1);
		CHECK(i == 0 || plan.kills[i - 1].part <= plan.kills[i].part);
		seen[plan.kills[i].service] = true;
	}
	CHECK(seen[PRODUCER] && seen[RELAY] && seen[CONSUMER]);
	plan_done(&plan);
}

static void what_was_asked_for(void)
{
	char *crashes[] = {(char *)"relay.after_append", (char *)"consumer.before_commit@12"};
	char *kills[] = {(char *)"relay@75%", (char *)"producer@0.5%"};
	struct config config = {.crash = list(crashes, 2), .kill = list(kills, 2)};
	struct plan plan;

	make(&config, 1, &plan);
	CHECK_INT(plan.n_crashes, 2);
	CHECK_INT(plan.crashes[0].service, RELAY);
	CHECK_STR(plan.crashes[0].env, "UMAVEZ_FAILPOINTS=relay.after_append=crash@1");
	CHECK_INT(plan.crashes[1].service, CONSUMER);
	CHECK_STR(plan.crashes[1].env, "UMAVEZ_FAILPOINTS=consumer.before_commit=crash@12");
	CHECK_INT(plan.n_kills, 2);
	CHECK(plan.kills[0].service == PRODUCER && plan.kills[0].part == 0.005);
	CHECK(plan.kills[1].service == RELAY && plan.kills[1].part == 0.75);
	plan_done(&plan);
}

static void refused(const struct config *config, const char *message)
{
	struct err err = ERR_INIT;
	struct plan plan;

	CHECK_INT(plan_make(config, 1, &plan, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK(strstr(err.message, message) != NULL);
}

static void bad_words(void)
{
	static const char *const crashes[] = {"relay.nowhere", "relay", "", "relay.after_append@",
	    "relay.after_append@0", "relay.after_append@x", "relay.after_append@-1",
	    "relay.after_append=exit", "relay.after_append@3;relay.mid_tick=exit"};
	static const char *const kills[] = {"relay", "redis@20%", "relay@20", "relay@", "relay@%",
	    "relay@101%", "relay@-1%", "relay@20%x", ""};

	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
		char *values[] = {(char *)crashes[i]};

		refused(&(struct config){.crash = list(values, 1)}, "--crash: ");
	}
	for (size_t i = 0; i < sizeof(kills) / sizeof(kills[0]); i++) {
		char *values[] = {(char *)kills[i]};

		refused(&(struct config){.kill = list(values, 1)}, "--kill: ");
	}
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"the same seed gives the same plan, another seed another", same_seed_same_plan},
	    {"random kills are in order and hit every service",
		kills_are_in_order_and_of_all_services},
	    {"crash points and moments as asked for", what_was_asked_for},
	    {"what is not understood is refused", bad_words},
	    {NULL, NULL},
	};

	return check_main("simulate plan", checks, argc, argv);
}
