/*
 * option.h - configuration as a table.
 *
 * One row gives --name, UMAVEZ_NAME (or the row's standard variable), --help and the start-up dump.
 * A flag beats the variable, which beats the default; an empty variable counts as unset.  String
 * and list options also take --name-file (and UMAVEZ_NAME_FILE), unless they name a file
 * themselves: the value is read from that file, one trailing newline removed.  A value follows as
 * --name=value or as the next word; a bare boolean is on and takes only the first form.  "--" ends
 * the options. Repeatable options are given again on the command line and comma-separated in the
 * variable. An unknown option, a value out of range or a missing required one is ERR_USAGE, naming
 * it and what it takes.
 */
#ifndef UMAVEZ_OPTION_H
#define UMAVEZ_OPTION_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
	OPT_STRING,    /* char *            */
	OPT_NAME,      /* char *: 1 to 64 of A-Z a-z 0-9 . _ - */
	OPT_PG_URL,    /* char *: pg_url_check() */
	OPT_REDIS_URL, /* char *: redis_url_check() */
	OPT_ADDRESS,   /* char *: option_endpoint() */
	OPT_LIST,      /* struct option_list */
	OPT_INT,       /* int64_t            */
	OPT_DURATION,  /* int64_t, ms: 500ms 5s 10min 12h 7d; a unit is required unless 0 */
	OPT_SIZE,      /* int64_t, bytes: 512B 256KiB 1MiB 1GiB; a unit is required unless 0 */
	OPT_FRACTION,  /* double: 0 to 1     */
	OPT_BOOL,      /* bool: on/off/true/false/yes/no/1/0; a bare flag is on */
	OPT_CHOICE,    /* int: index into choices, "a|b|c" */
};

enum option_flag {
	OPT_REQUIRED = 1, /* no value is ERR_USAGE */
	OPT_SECRET = 2,   /* never printed */
	OPT_UNSET = 4,    /* the fallback stands for no value: the help does not tell it */
};

struct option_list {
	size_t n;
	char **values; /* owned by the configuration, like every string */
};

bool option_list_has(const struct option_list *list, const char *text); /* NULL is in none */

struct option {
	const char *name; /* "stripe-secret"; NULL ends a table */
	enum option_type type;
	size_t offset;        /* offsetof() in the configuration struct */
	const char *fallback; /* as one would write it; NULL: none */
	const char *help;
	int flags;
	int64_t min, max;     /* OPT_INT, _DURATION, _SIZE; both 0: no bound but >= 0 */
	const char *choices;  /* OPT_CHOICE */
	const char *variable; /* instead of UMAVEZ_NAME: DATABASE_URL */
};

enum option_action { OPTION_RUN, OPTION_HELP, OPTION_VERSION };

/* What is on the command line besides options: borrowed from argv, in order. */
struct option_words {
	int n;
	char **words;
};

/*
 * Fill config (zeroed by the caller) from argv and the environment.  argv[0] is skipped.  words may
 * be NULL: then any word that is not an option is ERR_USAGE.  "--help" and "--version" win over
 * every error; "-h" is "--help", and so is "help" alone where no words are taken.  On success, free
 * what config holds with option_done().
 */
int option_parse(const struct option *table, void *config, int argc, char **argv,
    struct option_words *words, enum option_action *ret_action, struct err *err) warn_unused;
void option_done(const struct option *table, void *config);

/* A duration as one would write it ("1min"); malloc'd. */
char *option_duration_text(int64_t ms);

/* --help, aligned, one paragraph a row, to stdout. It begins with "Usage: <program> <usage>". */
void option_help(const char *program, const char *usage, const struct option *table);

/* One info line with every value; secrets as "***" when set. Passwords in URLs are masked. */
void option_dump(const struct option *table, const void *config);

#define OPTION_ENDPOINT_FORMS "host:port, [v6]:port, port or unix:/path"

/* One of OPTION_ENDPOINT_FORMS, checked and split.  *ret_host is malloc'd: a
 * host, NULL for every address, or a socket's path, and then *ret_port is -1.  Port 0: the system
 * chooses. */
int option_endpoint(const char *text, char **ret_host, int *ret_port, struct err *err) warn_unused;

/* url with its password, if any, replaced by "***". malloc'd. */
char *option_mask_url(const char *url);

#endif
