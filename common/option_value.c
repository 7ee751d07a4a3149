#include "common/option_value.h"

#include "common/memory.h"
#include "common/pg.h"
#include "common/redis.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_MAX_LEN = 64 };

struct unit {
	const char *name;
	int64_t factor;
};

/* Ascending: option_value_text() takes the greatest that divides. */
static const struct unit durations[] = {
    {"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}, {NULL, 0}};
static const struct unit sizes[] = {
    {"B", 1}, {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};

bool option_value_is_text(const struct option *row)
{
	return row->type == OPT_STRING || row->type == OPT_NAME || row->type == OPT_PG_URL ||
	       row->type == OPT_REDIS_URL || row->type == OPT_ADDRESS;
}

static void *member(const struct option *row, void *config)
{
	return (char *)config + row->offset;
}

static const void *member_const(const struct option *row, const void *config)
{
	return (const char *)config + row->offset;
}

static int refuse(const struct option *row, const char *source, const char *text, const char *want,
    struct err *err)
{
	if (row->flags & OPT_SECRET)
		return err_set(err, ERR_USAGE, "%s: the value is not %s", source, want);
	return err_set(err, ERR_USAGE, "%s: \"%.100s\" is not %s", source, text, want);
}

bool option_value_takes_file(const struct option *row)
{
	static const char suffix[] = "-file";
	size_t len = strlen(row->name), suffix_len = strlen(suffix);

	if (!option_value_is_text(row) && row->type != OPT_LIST)
		return false;
	return len < suffix_len || strcmp(row->name + len - suffix_len, suffix) != 0;
}

/* Decimal digits, with a sign where signs make sense. False: none, or beyond 64 bits. */
static bool parse_number(const char *text, bool is_signed, char **end, int64_t *ret)
{
	const char *digits = is_signed && *text == '-' ? text + 1 : text;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*ret = strtoll(text, end, 10);
	return errno == 0;
}

static bool parse_units(const char *text, const struct unit *units, int64_t *ret)
{
	char *end;
	int64_t n;

	if (!parse_number(text, false, &end, &n))
		return false;
	if (n == 0 && *end == '\0') {
		*ret = 0;
		return true;
	}
	for (const struct unit *u = units; u->name; u++) {
		if (strcmp(end, u->name) == 0)
			return !__builtin_mul_overflow(n, u->factor, ret);
	}
	return false;
}

static char *units_text(int64_t n, const struct unit *units)
{
	const struct unit *best = units;

	for (const struct unit *u = units; n != 0 && u->name; u++) {
		if (n % u->factor == 0)
			best = u;
	}
	return mem_printf("%" PRId64 "%s", n / best->factor, best->name);
}

char *option_duration_text(int64_t ms)
{
	return units_text(ms, durations);
}

/* As one would write it; malloc'd. */
static char *number_text(enum option_type type, int64_t n)
{
	switch (type) {
	case OPT_DURATION:
		return option_duration_text(n);
	case OPT_SIZE:
		return units_text(n, sizes);
	default:
		return mem_printf("%" PRId64, n);
	}
}

/* Without bounds nothing is left to check: a sign is not even parsed. */
static int check_range(const struct option *row, const char *source, int64_t n, struct err *err)
{
	if ((row->min == 0 && row->max == 0) || (n >= row->min && n <= row->max))
		return 0;
	char *min = number_text(row->type, row->min), *max = number_text(row->type, row->max);
	err_set(err, ERR_USAGE, "%s: out of range (%s to %s)", source, min, max);
	free(min);
	free(max);
	return -1;
}

static int set_number(const struct option *row, int64_t *member_at, const char *source,
    const char *text, struct err *err)
{
	const char *want = "a whole number";
	int64_t n;
	bool ok;

	if (row->type == OPT_DURATION) {
		want = "a duration (500ms 5s 10min 12h 7d)";
		ok = parse_units(text, durations, &n);
	} else if (row->type == OPT_SIZE) {
		want = "a size (512B 256KiB 1MiB 1GiB)";
		ok = parse_units(text, sizes, &n);
	} else {
		char *end;
		ok = parse_number(text, row->min < 0, &end, &n) && *end == '\0';
	}
	if (!ok)
		return refuse(row, source, text, want, err);
	if (check_range(row, source, n, err) < 0)
		return -1;
	*member_at = n;
	return 0;
}

/* Plain decimals: neither a sign nor what else strtod() knows. */
static int set_fraction(const struct option *row, double *member_at, const char *source,
    const char *text, struct err *err)
{
	char *end = NULL;
	double value = strtod(text, &end);

	if (*text == '\0' || text[strspn(text, "0123456789.")] != '\0' || *end != '\0' || value > 1)
		return refuse(row, source, text, "a fraction (0 to 1)", err);
	*member_at = value;
	return 0;
}

static int set_bool(const struct option *row, bool *member_at, const char *source, const char *text,
    struct err *err)
{
	static const char *const words[] = {
	    "off", "on", "false", "true", "no", "yes", "0", "1", NULL};

	for (int i = 0; words[i]; i++) {
		if (strcasecmp(text, words[i]) == 0) {
			*member_at = i % 2;
			return 0;
		}
	}
	return refuse(row, source, text, "on or off", err);
}

static int set_choice(
    const struct option *row, int *member_at, const char *source, const char *text, struct err *err)
{
	const char *at = row->choices;
	size_t len = strlen(text);

	for (int i = 0;; i++) {
		size_t word = strcspn(at, "|");
		if (word == len && memcmp(at, text, len) == 0) {
			*member_at = i;
			return 0;
		}
		if (at[word] == '\0')
			break;
		at += word + 1;
	}
	char want[100];
	snprintf(want, sizeof(want), "one of %s", row->choices);
	return refuse(row, source, text, want, err);
}

/* A name becomes a Redis key, a hash field, a metric's label: nothing in it needs escaping. */
static int check_name(
    const struct option *row, const char *source, const char *text, struct err *err)
{
	static const char allowed[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(text);

	if (len == 0 || len > NAME_MAX_LEN || strspn(text, allowed) != len)
		return refuse(row, source, text,
		    "a name (1 to 64 letters, digits, dots, dashes and underscores)", err);
	return 0;
}

static int check_address(const char *text, struct err *err)
{
	char *host = NULL;
	int port;

	if (option_endpoint(text, &host, &port, err) < 0)
		return -1;
	free(host);
	return 0;
}

static int check_text(
    const struct option *row, const char *source, const char *text, struct err *err)
{
	int rc = 0;

	if (row->type == OPT_NAME)
		return check_name(row, source, text, err);
	if (row->type == OPT_PG_URL)
		rc = pg_url_check(text, err);
	if (row->type == OPT_REDIS_URL)
		rc = redis_url_check(text, err);
	if (row->type == OPT_ADDRESS)
		rc = check_address(text, err);
	return rc < 0 ? err_wrap(err, "%s", source) : 0;
}

static int set_text(const struct option *row, char **member_at, const char *source,
    const char *text, struct err *err)
{
	if (check_text(row, source, text, err) < 0)
		return -1;
	free(*member_at);
	*member_at = mem_strdup(text);
	return 0;
}

static void list_append(struct option_list *list, const char *text)
{
	list->values = mem_realloc(list->values, (list->n + 1) * sizeof(*list->values));
	list->values[list->n++] = mem_strdup(text);
}

int option_value_set(
    const struct option *row, void *config, const char *source, const char *text, struct err *err)
{
	void *at = member(row, config);

	switch (row->type) {
	case OPT_STRING:
	case OPT_NAME:
	case OPT_PG_URL:
	case OPT_REDIS_URL:
	case OPT_ADDRESS:
		return set_text(row, at, source, text, err);
	case OPT_LIST:
		list_append(at, text);
		return 0;
	case OPT_INT:
	case OPT_DURATION:
	case OPT_SIZE:
		return set_number(row, at, source, text, err);
	case OPT_FRACTION:
		return set_fraction(row, at, source, text, err);
	case OPT_BOOL:
		return set_bool(row, at, source, text, err);
	case OPT_CHOICE:
		return set_choice(row, at, source, text, err);
	}
	assert(!"option type");
	return -1;
}

void option_value_clear(const struct option *row, void *config)
{
	if (option_value_is_text(row)) {
		char **at = member(row, config);
		free(*at);
		*at = NULL;
	} else if (row->type == OPT_LIST) {
		struct option_list *list = member(row, config);
		for (size_t i = 0; i < list->n; i++)
			free(list->values[i]);
		free(list->values);
		*list = (struct option_list){0, NULL};
	}
}

bool option_value_present(const struct option *row, const void *config)
{
	const void *at = member_const(row, config);

	if (option_value_is_text(row)) {
		const char *text = *(char *const *)at;
		return text && *text;
	}
	if (row->type == OPT_LIST)
		return ((const struct option_list *)at)->n > 0;
	return true;
}

static char *list_text(const struct option_list *list)
{
	char *text = mem_strdup("");

	for (size_t i = 0; i < list->n; i++) {
		char *value = option_mask_url(list->values[i]);
		char *longer = mem_printf("%s%s%s", text, i > 0 ? "," : "", value);
		free(value);
		free(text);
		text = longer;
	}
	return text;
}

static char *choice_text(const char *choices, int index)
{
	for (; index > 0; index--)
		choices += strcspn(choices, "|") + 1;
	return mem_strndup(choices, strcspn(choices, "|"));
}

char *option_value_text(const struct option *row, const void *config)
{
	const void *at = member_const(row, config);

	if ((row->flags & OPT_SECRET) && option_value_present(row, config))
		return mem_strdup("***");
	switch (row->type) {
	case OPT_STRING:
	case OPT_NAME:
	case OPT_PG_URL:
	case OPT_REDIS_URL:
	case OPT_ADDRESS:
		return option_mask_url(*(char *const *)at ? *(char *const *)at : "");
	case OPT_LIST:
		return list_text(at);
	case OPT_INT:
	case OPT_DURATION:
	case OPT_SIZE:
		return number_text(row->type, *(const int64_t *)at);
	case OPT_FRACTION:
		return mem_printf("%g", *(const double *)at);
	case OPT_BOOL:
		return mem_strdup(*(const bool *)at ? "on" : "off");
	case OPT_CHOICE:
		return choice_text(row->choices, *(const int *)at);
	}
	assert(!"option type");
	return NULL;
}
