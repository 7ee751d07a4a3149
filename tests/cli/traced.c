#include "tests/cli/traced.h"

#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/text.h"

#include <stdlib.h>

json_t *traced(struct world *w, const char *id)
{
	const char *const args[] = {"trace", "--json", id, NULL};

	return story_umavez(w, args);
}

void traced_check_outcome(struct world *w, const char *id, const char *outcome)
{
	json_t *json = traced(w, id);

	CHECK_STR(story_get(json, "outcome"), outcome);
	json_decref(json);
}

void traced_check_stuck(struct world *w, const char *id, const char *outcome, const char *stuck)
{
	json_t *json = traced(w, id);

	CHECK_STR(story_get(json, "outcome"), outcome);
	CHECK_STR(story_get(json, "stuck"), stuck);
	json_decref(json);
}

void traced_check_steps(struct world *w, const char *id, const char *want)
{
	json_t *json = traced(w, id), *step;
	char *steps = text_format("%s", ""), *longer;
	size_t i;

	json_array_foreach (json_object_get(json, "steps"), i, step) {
		longer = text_format("%s%s%s", steps, i ? " " : "", story_get(step, "step"));
		free(steps);
		steps = longer;
	}
	CHECK_STR(steps, want);
	free(steps);
	json_decref(json);
}
