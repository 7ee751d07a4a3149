#include "tests/bench/options.h"

#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct bench_options, member)

const struct option bench_options_table[] = {
    {"quick", OPT_BOOL, AT(quick), "off", "Small amounts: two minutes instead of fifteen", 0, 0, 0,
	NULL, NULL},
    {"scale", OPT_FRACTION, AT(scale), "1", "Of the amounts, for a look at whether all of it works",
	0, 0, 0, NULL, NULL},
    {"only", OPT_LIST, AT(only), NULL, "Chapters or contestants, NAME[,NAME]", 0, 0, 0, NULL, NULL},
    {"json", OPT_STRING, AT(json), NULL, "Write all figures to this file", 0, 0, 0, NULL, NULL},
    {"svg", OPT_STRING, AT(svg), NULL, "Write the plots into this directory", 0, 0, 0, NULL, NULL},
    {"rounds", OPT_INT, AT(rounds), NULL,
	"How often each contestant runs; medians are of these (5; 3 with --quick)", 0, 1, 100, NULL,
	NULL},
    {"history", OPT_INT, AT(history), "10000000",
	"Rows of history to compare with none (a hundredth with --quick)", 0, 1000, 100000000, NULL,
	NULL},
    {"no-fsync", OPT_BOOL, AT(no_fsync), "off",
	"No commit waits for the disk, for no contestant: as if its writes took no time", 0, 0, 0,
	NULL, NULL},
    {"smoke", OPT_BOOL, AT(smoke), "off",
	"Only what is compared with a textbook contestant; fail below half of a goal", 0, 0, 0,
	NULL, NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

const char bench_usage[] = "[OPTION]...\n\nSee the comment in tests/bench/run.\n";

static bool list_has(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (; *list; list += strspn(list, ",")) {
		size_t item = strcspn(list, ",");

		if (item == len && strncmp(list, name, len) == 0)
			return true;
		list += item;
	}
	return false;
}

bool bench_wants(const struct bench_options *o, const char *chapter, const char *name)
{
	for (size_t i = 0; i < o->only.n; i++)
		if (list_has(o->only.values[i], chapter) || list_has(o->only.values[i], name))
			return true;
	return o->only.n == 0;
}
