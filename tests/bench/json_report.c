#include "tests/bench/json_report.h"

#include "tests/bench/goals.h"
#include "tests/support/die.h"

#include <jansson.h>
#include <math.h>

static void set_number(json_t *o, const char *name, double value)
{
	if (!isnan(value))
		json_object_set_new(o, name, json_real(value));
}

static json_t *round_json(const struct outcome *round)
{
	json_t *o = json_object();

	json_object_set_new(o, "ledger", json_boolean(!round->failed));
	for (int f = 0; f < FIGURES; f++)
		set_number(o, figure_names[f], round->figures[f]);
	return o;
}

static json_t *result_json(const struct result *r)
{
	json_t *o = json_object(), *medians = json_object(), *rounds = json_array();

	for (int f = 0; f < FIGURES; f++)
		set_number(medians, figure_names[f], result_median(r, (enum figure)f));
	for (int i = 0; i < r->n; i++)
		json_array_append_new(rounds, round_json(&r->rounds[i]));
	json_object_set_new(o, "chapter", json_string(r->chapter->name));
	json_object_set_new(o, "contestant", json_string(r->contestant->name));
	json_object_set_new(o, "what", json_string(r->contestant->what));
	if (r->obstacle != NULL)
		json_object_set_new(o, "obstacle", json_string(r->obstacle));
	json_object_set_new(o, "medians", medians);
	json_object_set_new(o, "rounds", rounds);
	return o;
}

static json_t *goal_json(const struct goal *goal, const struct results *results)
{
	json_t *o = json_object();
	double value;
	enum verdict verdict = goal_judge(goal, results, &value);

	json_object_set_new(o, "what", json_string(goal->what));
	json_object_set_new(o, goal->at_most ? "at_most" : "at_least", json_real(goal->bound));
	set_number(o, "value", value);
	json_object_set_new(
	    o, "met", verdict == GOAL_UNKNOWN ? json_null() : json_boolean(verdict == GOAL_MET));
	return o;
}

static json_t *machine_json(const struct machine *m)
{
	return json_pack("{s:s, s:i, s:s, s:s, s:b, s:s, s:s, s:s}", "processor", m->processor,
	    "cores", m->cores, "kernel", m->kernel, "postgresql", m->postgresql, "fsync", m->fsync,
	    "redis", m->redis, "commit", m->commit, "date", m->date);
}

void json_report_write(
    const char *path, const struct machine *machine, const struct results *results)
{
	json_t *o = json_object(), *all = json_array(), *judged = json_array();

	for (int i = 0; i < results->n; i++)
		json_array_append_new(all, result_json(&results->all[i]));
	for (size_t i = 0; i < n_goals; i++)
		json_array_append_new(judged, goal_json(&goals[i], results));
	json_object_set_new(o, "machine", machine_json(machine));
	json_object_set_new(o, "results", all);
	json_object_set_new(o, "goals", judged);
	if (json_dump_file(o, path, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) < 0)
		die("cannot write %s", path);
	json_decref(o);
}
