#include "common/option.h"

#include "common/memory.h"
#include "common/option_value.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { FILE_MAX_BYTES = 65536 };

struct parser {
	const struct option *table;
	void *config;
	bool *given; /* by row: on the command line */
};

/* The row called name, or, with *ret_file, the one whose value is to be read from a file. */
static const struct option *find_row(
    const struct option *table, const char *name, size_t len, bool *ret_file)
{
	static const char suffix[] = "-file";
	size_t stem = len > strlen(suffix) ? len - strlen(suffix) : 0;

	*ret_file = false;
	for (const struct option *row = table; row->name; row++) {
		if (strlen(row->name) == len && memcmp(row->name, name, len) == 0)
			return row;
	}
	if (stem == 0 || memcmp(name + stem, suffix, strlen(suffix)) != 0)
		return NULL;
	*ret_file = true;
	for (const struct option *row = table; row->name; row++) {
		if (option_value_takes_file(row) && strlen(row->name) == stem &&
		    memcmp(row->name, name, stem) == 0)
			return row;
	}
	return NULL;
}

static int read_value(const char *source, const char *path, char **ret_text, struct err *err)
{
	char *text = mem_alloc(FILE_MAX_BYTES + 1);
	FILE *file = fopen(path, "re");
	size_t n;
	int rc = -1;

	if (!file) {
		err_set(err, ERR_USAGE, "%s: %.200s: %s", source, path, strerror(errno));
		goto done;
	}
	n = fread(text, 1, FILE_MAX_BYTES + 1, file);
	if (ferror(file)) {
		err_set(err, ERR_USAGE, "%s: %.200s: %s", source, path, strerror(errno));
		goto done;
	}
	if (n > FILE_MAX_BYTES || memchr(text, '\0', n)) {
		err_set(err, ERR_USAGE, "%s: %.200s: not a text of at most %d bytes", source, path,
		    FILE_MAX_BYTES);
		goto done;
	}
	if (n > 0 && text[n - 1] == '\n')
		n--;
	if (n > 0 && text[n - 1] == '\r')
		n--;
	text[n] = '\0';
	*ret_text = text;
	text = NULL;
	rc = 0;
done:
	if (file)
		fclose(file);
	free(text);
	return rc;
}

static int set_from_file(struct parser *p, const struct option *row, const char *source,
    const char *path, struct err *err)
{
	char *text = NULL;
	int rc = -1;

	if (read_value(source, path, &text, err) < 0)
		goto done;
	rc = option_value_set(row, p->config, source, text, err);
done:
	free(text);
	return rc;
}

static int set_given(struct parser *p, const struct option *row, bool file, const char *source,
    const char *value, struct err *err)
{
	/* The command line replaces a list of the variable or the default; then it appends. */
	if (!p->given[row - p->table])
		option_value_clear(row, p->config);
	p->given[row - p->table] = true;
	if (file)
		return set_from_file(p, row, source, value, err);
	return option_value_set(row, p->config, source, value, err);
}

/* argv[*i] is "--name..."; *i moves past its value. */
static int parse_flag(struct parser *p, int argc, char **argv, int *i, struct err *err)
{
	const char *name = argv[*i] + 2;
	size_t len = strcspn(name, "=");
	const char *value = name[len] == '=' ? name + len + 1 : NULL;
	char source[100];
	bool file;

	snprintf(source, sizeof(source), "--%.*s", (int)(len < 80 ? len : 80), name);
	const struct option *row = find_row(p->table, name, len, &file);
	if (!row)
		return err_set(err, ERR_USAGE, "%s: no such option (see --help)", source);
	if (!value && row->type == OPT_BOOL)
		value = "on";
	if (!value) {
		if (*i + 1 >= argc)
			return err_set(err, ERR_USAGE, "%s: a value is missing", source);
		value = argv[++*i];
	}
	return set_given(p, row, file, source, value, err);
}

static int parse_command_line(
    struct parser *p, int argc, char **argv, struct option_words *words, struct err *err)
{
	bool only_words = false;

	for (int i = 1; i < argc; i++) {
		if (!only_words && strcmp(argv[i], "--") == 0) {
			only_words = true;
		} else if (!only_words && strncmp(argv[i], "--", 2) == 0) {
			if (parse_flag(p, argc, argv, &i, err) < 0)
				return -1;
		} else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
			return err_set(
			    err, ERR_USAGE, "%.80s: no such option (see --help)", argv[i]);
		} else if (!words) {
			return err_set(err, ERR_USAGE, "\"%.80s\" is not an option", argv[i]);
		} else {
			words->words[words->n++] = argv[i];
		}
	}
	return 0;
}

/* "UMAVEZ_STRIPE_SECRET", or the row's own, and the suffix. */
static void variable_name(const struct option *row, const char *suffix, char *buf, size_t size)
{
	int n = row->variable ? snprintf(buf, size, "%s%s", row->variable, suffix)
			      : snprintf(buf, size, "UMAVEZ_%s%s", row->name, suffix);

	assert(n > 0 && (size_t)n < size);
	(void)n;
	for (char *c = buf; *c; c++)
		*c = (char)(*c == '-' ? '_' : toupper((unsigned char)*c));
}

/* One value, or for a list each of the comma-separated ones. */
static int set_text(struct parser *p, const struct option *row, bool file, const char *source,
    const char *text, struct err *err)
{
	char *copy = mem_strdup(text), *rest = NULL;
	const char *separators = row->type == OPT_LIST ? "," : "";
	int rc = 0;

	option_value_clear(row, p->config);
	for (char *value = strtok_r(copy, separators, &rest); value && rc == 0;
	     value = strtok_r(NULL, separators, &rest)) {
		rc = file ? set_from_file(p, row, source, value, err)
			  : option_value_set(row, p->config, source, value, err);
	}
	free(copy);
	return rc;
}

static int parse_variable(struct parser *p, const struct option *row, struct err *err)
{
	char plain[100], with_file[100];

	variable_name(row, "", plain, sizeof(plain));
	variable_name(row, "_FILE", with_file, sizeof(with_file));
	const char *value = getenv(plain);
	const char *path = option_value_takes_file(row) ? getenv(with_file) : NULL;
	bool have_value = value && *value, have_path = path && *path;

	if (have_value && have_path)
		return err_set(err, ERR_USAGE, "%s and %s are both set", plain, with_file);
	if (have_path)
		return set_text(p, row, true, with_file, path, err);
	if (have_value)
		return set_text(p, row, false, plain, value, err);
	return 0;
}

static int parse_defaults(struct parser *p, struct err *err)
{
	char source[100];

	for (const struct option *row = p->table; row->name; row++) {
		snprintf(source, sizeof(source), "--%s", row->name);
		if (row->fallback && set_text(p, row, false, source, row->fallback, err) < 0)
			return -1;
	}
	return 0;
}

static int parse_environment(struct parser *p, struct err *err)
{
	for (const struct option *row = p->table; row->name; row++) {
		if (parse_variable(p, row, err) < 0)
			return -1;
	}
	return 0;
}

static int check_required(const struct parser *p, struct err *err)
{
	char variable[100];

	for (const struct option *row = p->table; row->name; row++) {
		if (!(row->flags & OPT_REQUIRED) || option_value_present(row, p->config))
			continue;
		variable_name(row, "", variable, sizeof(variable));
		return err_set(err, ERR_USAGE, "--%s (or %s) is required", row->name, variable);
	}
	return 0;
}

static enum option_action find_action(int argc, char **argv, bool takes_words)
{
	if (!takes_words && argc == 2 && strcmp(argv[1], "help") == 0)
		return OPTION_HELP;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return OPTION_HELP;
		if (strcmp(argv[i], "--version") == 0)
			return OPTION_VERSION;
	}
	return OPTION_RUN;
}

static int parse_all(
    struct parser *p, int argc, char **argv, struct option_words *words, struct err *err)
{
	if (parse_defaults(p, err) < 0 || parse_environment(p, err) < 0)
		return -1;
	if (parse_command_line(p, argc, argv, words, err) < 0)
		return -1;
	return check_required(p, err);
}

int option_parse(const struct option *table, void *config, int argc, char **argv,
    struct option_words *words, enum option_action *ret_action, struct err *err)
{
	struct parser p = {.table = table, .config = config};
	struct option_words found = {0, NULL};
	size_t rows = 0;
	int rc = -1;

	*ret_action = find_action(argc, argv, words != NULL);
	if (*ret_action != OPTION_RUN) {
		if (words)
			*words = found;
		return 0;
	}
	while (table[rows].name)
		rows++;
	p.given = mem_zalloc(rows, sizeof(*p.given));
	/* Words are gathered at the front of argv: there are never more of them than were read. */
	found.words = argv + (argc > 0 ? 1 : 0);
	if (parse_all(&p, argc, argv, words ? &found : NULL, err) < 0)
		goto done;
	if (words)
		*words = found;
	rc = 0;
done:
	if (rc < 0)
		option_done(table, config);
	free(p.given);
	return rc;
}

void option_done(const struct option *table, void *config)
{
	for (const struct option *row = table; row->name; row++)
		option_value_clear(row, config);
}

bool option_list_has(const struct option_list *list, const char *text)
{
	for (size_t i = 0; text && i < list->n; i++) {
		if (strcmp(list->values[i], text) == 0)
			return true;
	}
	return false;
}

static int refuse_endpoint(const char *text, struct err *err)
{
	return err_set(err, ERR_USAGE,
	    "\"%.100s\" is not an address (host:port, [v6]:port, port or unix:/path)", text);
}

static bool parse_port(const char *text, int *ret_port)
{
	char *end;
	long n = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;

	if (n < 0 || n > 65535 || *end != '\0')
		return false;
	*ret_port = (int)n;
	return true;
}

int option_endpoint(const char *text, char **ret_host, int *ret_port, struct err *err)
{
	const char *colon = strrchr(text, ':');
	const char *port = colon ? colon + 1 : text;
	const char *host = text;
	size_t host_len = colon ? (size_t)(colon - text) : 0;

	if (strncmp(text, "unix:", 5) == 0) {
		if (text[5] != '/' ||
		    strlen(text + 5) >= sizeof(((struct sockaddr_un *)0)->sun_path))
			return refuse_endpoint(text, err);
		*ret_host = mem_strdup(text + 5);
		*ret_port = -1;
		return 0;
	}
	if (host_len > 2 && host[0] == '[' && host[host_len - 1] == ']') {
		host++;
		host_len -= 2;
	} else if (memchr(host, ':', host_len) || memchr(host, '[', host_len)) {
		return refuse_endpoint(text, err);
	}
	if (!parse_port(port, ret_port))
		return refuse_endpoint(text, err);
	*ret_host = host_len > 0 ? mem_strndup(host, host_len) : NULL;
	return 0;
}
