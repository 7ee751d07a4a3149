/* A line is a word of the command line, or, with a blank in front, a variable: " COUNT=3". */
#include "common/memory.h"
#include "common/option.h"
#include "common/option_value.h"
#include "tests/fuzz/fuzz.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 16
#define MAX_VARIABLES 8

struct config {
	char *text, *secret, *name, *database, *redis, *address;
	struct option_list list, secrets;
	int64_t count, offset, wait, size;
	bool flag;
	int mode;
};

#define AT(member) offsetof(struct config, member)

static const struct option table[] = {
    {"text", OPT_STRING, AT(text), "x", "", OPT_REQUIRED, 0, 0, NULL, "FUZZ_TEXT"},
    {"name", OPT_NAME, AT(name), "umavez", "", 0, 0, 0, NULL, NULL},
    {"database", OPT_PG_URL, AT(database), NULL, "", 0, 0, 0, NULL, NULL},
    {"redis", OPT_REDIS_URL, AT(redis), NULL, "", 0, 0, 0, NULL, NULL},
    {"address", OPT_ADDRESS, AT(address), NULL, "", 0, 0, 0, NULL, NULL},
    {"secret", OPT_STRING, AT(secret), NULL, "", OPT_SECRET, 0, 0, NULL, NULL},
    {"list", OPT_LIST, AT(list), NULL, "", 0, 0, 0, NULL, NULL},
    {"secrets", OPT_LIST, AT(secrets), NULL, "", OPT_SECRET, 0, 0, NULL, NULL},
    {"count", OPT_INT, AT(count), "4", "", 0, 1, 1000, NULL, NULL},
    {"offset", OPT_INT, AT(offset), "0", "", 0, INT64_MIN, INT64_MAX, NULL, NULL},
    {"wait", OPT_DURATION, AT(wait), "5s", "", 0, 0, 0, NULL, NULL},
    {"size", OPT_SIZE, AT(size), "1KiB", "", 0, 0, 0, NULL, NULL},
    {"flag", OPT_BOOL, AT(flag), "off", "", 0, 0, 0, NULL, NULL},
    {"mode", OPT_CHOICE, AT(mode), "logfmt", "", 0, 0, 0, "logfmt|json", NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static void check_bounds(const struct config *c)
{
	FUZZ_CHECK(c->text && *c->text);
	FUZZ_CHECK(c->name && *c->name && strlen(c->name) <= 64 && !strpbrk(c->name, " :{}\"\n"));
	FUZZ_CHECK(c->count >= 1 && c->count <= 1000 && c->wait >= 0 && c->size >= 0);
	FUZZ_CHECK(c->mode == 0 || c->mode == 1);
}

/* What the start-up dump says of a value can be given as that value, and means the same. */
static void check_text(const struct option *row, const void *config)
{
	struct config other = {.count = 0};
	struct err err;
	char *text = option_value_text(row, config), *again;

	FUZZ_CHECK(text);
	if (row->flags & OPT_SECRET) {
		FUZZ_CHECK(!*text || strcmp(text, "***") == 0);
	} else if (!option_value_is_text(row) && row->type != OPT_LIST) {
		FUZZ_CHECK(option_value_set(row, &other, "again", text, &err) == 0);
		again = option_value_text(row, &other);
		FUZZ_CHECK(strcmp(text, again) == 0);
		free(again);
	}
	option_value_clear(row, &other);
	free(text);
}

struct given {
	char *words[MAX_WORDS + 1];
	char *variables[MAX_VARIABLES];
	int n_words, n_variables;
};

/* Not any file that the mutator may come to name. */
static bool is_harmless(const uint8_t *data, size_t size)
{
	bool reads = size > 0 && (memmem(data, size, "-file", 5) || memmem(data, size, "_FILE", 5));

	return !reads || !memchr(data, '/', size);
}

static void read_lines(struct fuzz_piece rest, struct given *g)
{
	struct fuzz_piece line;

	g->words[g->n_words++] = mem_strdup("fuzz");
	while (fuzz_cut(&rest, '\n', &line)) {
		bool variable = line.len > 0 && line.at[0] == ' ';

		if (!variable && g->n_words < MAX_WORDS)
			g->words[g->n_words++] = fuzz_text(line);
		else if (variable && g->n_variables < MAX_VARIABLES &&
			 memchr(line.at, '=', line.len))
			g->variables[g->n_variables++] = fuzz_text(line);
	}
}

/* UMAVEZ_COUNT from " COUNT=3". */
static void set_variables(const struct given *g, bool set)
{
	for (int i = 0; i < g->n_variables; i++) {
		const char *pair = g->variables[i] + 1;
		char *name = mem_printf("UMAVEZ_%.*s", (int)strcspn(pair, "="), pair);

		if (!set)
			unsetenv(name);
		else if (strchr(pair, '='))
			setenv(name, strchr(pair, '=') + 1, 1);
		free(name);
	}
}

static void given_done(struct given *g, char **words)
{
	for (int i = 0; i < g->n_words; i++)
		free(words[i]);
	for (int i = 0; i < g->n_variables; i++)
		free(g->variables[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct given g = {.n_words = 0, .n_variables = 0};
	struct config config = {.count = 0};
	struct option_words words;
	enum option_action action = OPTION_RUN;
	char *all[MAX_WORDS];
	struct err err = ERR_INIT;
	int rc;

	if (!is_harmless(data, size))
		return 0;
	read_lines((struct fuzz_piece){(const char *)data, size}, &g);
	memcpy(all, g.words, sizeof(all)); /* option_parse() moves them about */
	set_variables(&g, true);
	rc = option_parse(table, &config, g.n_words, g.words, &words, &action, &err);
	set_variables(&g, false);
	if (rc < 0)
		FUZZ_CHECK(err.kind == ERR_USAGE && err.message[0]);
	if (rc == 0 && action == OPTION_RUN) {
		FUZZ_CHECK(words.n >= 0 && words.n < g.n_words);
		check_bounds(&config);
		for (const struct option *row = table; row->name; row++)
			check_text(row, &config);
		option_done(table, &config);
	}
	given_done(&g, all);
	return 0;
}
