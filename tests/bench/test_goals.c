/*
 * Goals are judged by medians, and --only and --smoke mean what they say.
 */
#include "tests/bench/goals.h"
#include "tests/bench/options.h"
#include "tests/support/check.h"

#include <math.h>

static const struct contestant fast = {.name = "umavez-relay"}, slow = {.name = "limit-append"};

static void add_rounds(struct results *r, const struct contestant *c, double rate)
{
	struct result *result = results_add(r, &relay_chapter, c);

	result_round(result)->figures[FIGURE_RATE] = rate * 100;
	result_round(result)->figures[FIGURE_RATE] = rate;
	result_round(result)->figures[FIGURE_RATE] = rate / 100;
	result_round(result);
}

static void a_goal_is_judged_by_medians(void)
{
	static const struct goal ratio = {
	    "", "umavez-relay", FIGURE_RATE, "limit-append", FIGURE_RATE, false, 0.8};
	struct goal bound = {"", "umavez-relay", FIGURE_RATE, NULL, FIGURE_RATE, true, 79};
	struct results *r = results_new();
	double value;

	CHECK_INT(goal_judge(&ratio, r, &value), GOAL_UNKNOWN);
	add_rounds(r, &fast, 80);
	CHECK_INT(goal_judge(&ratio, r, &value), GOAL_UNKNOWN);
	add_rounds(r, &slow, 100);
	CHECK_INT(goal_judge(&ratio, r, &value), GOAL_MET);
	CHECK(fabs(value - 0.8) < 1e-9);
	CHECK_INT(goal_judge(&bound, r, &value), GOAL_NOT_MET);
	bound.bound = 80;
	CHECK_INT(goal_judge(&bound, r, &value), GOAL_MET);
	results_free(r);
}

static void a_smoke_run_wants_half_of_what_textbooks_are_beaten_by(void)
{
	static const struct contestant relay = {.name = "umavez-relay"},
				       consumer = {.name = "umavez-consumer"},
				       producer = {.name = "umavez-producer"},
				       single = {.name = "umavez-producer-single"},
				       textbook_relay = {.name = "textbook-relay"},
				       textbook_consumer = {.name = "textbook-consumer"};
	struct results *r = results_new();

	CHECK_INT(goals_far_missed(r), 3);
	add_rounds(r, &producer, 150);
	add_rounds(r, &single, 100);
	CHECK_INT(goals_far_missed(r), 2);
	add_rounds(r, &relay, 150);
	add_rounds(r, &textbook_relay, 100);
	CHECK_INT(goals_far_missed(r), 1);
	add_rounds(r, &consumer, 249);
	add_rounds(r, &textbook_consumer, 100);
	CHECK_INT(goals_far_missed(r), 1);
	results_free(r);
}

static void a_smoke_run_needs_only_what_it_judges(void)
{
	CHECK(goals_smoke_needs("umavez-relay"));
	CHECK(goals_smoke_needs("textbook-consumer"));
	CHECK(goals_smoke_needs("umavez-producer-single"));
	CHECK(!goals_smoke_needs("limit-append"));
	CHECK(!goals_smoke_needs("pg-transactional-outbox"));
}

static void only_takes_lists_of_chapters_and_names(void)
{
	char list[] = "relay,limit-append";
	char *values[] = {list};
	const struct bench_options o = {.only = {1, values}}, all = {.quick = false};

	CHECK(bench_wants(&o, "relay", "umavez-relay"));
	CHECK(bench_wants(&o, "other", "limit-append"));
	CHECK(!bench_wants(&o, "other", "limit"));
	CHECK(!bench_wants(&o, "rel", "append"));
	CHECK(bench_wants(&all, "other", "name"));
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a goal is judged by medians", a_goal_is_judged_by_medians},
	    {"a smoke run wants half of what textbooks are beaten by",
		a_smoke_run_wants_half_of_what_textbooks_are_beaten_by},
	    {"a smoke run needs only what it judges", a_smoke_run_needs_only_what_it_judges},
	    {"only takes lists of chapters and names", only_takes_lists_of_chapters_and_names},
	    {NULL, NULL},
	};

	return check_main("bench goals", checks, argc, argv);
}
