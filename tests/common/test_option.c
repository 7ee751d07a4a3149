/*
 * Where an option's value comes from: a flag beats the variable, which beats the table, and either
 * may name a file.  And what else may be on a command line.
 */
#include "tests/common/config.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <unistd.h>

static void defaults(void)
{
	struct config c;

	config_read(NO_ARGS, &c);
	CHECK(c.url == NULL);
	CHECK_STR(c.name, "nobody");
	CHECK_INT(c.secrets.n, 0);
	CHECK_INT(c.threads, 4);
	CHECK_INT(c.wait, 5000);
	CHECK_INT(c.body, INT64_C(256) * 1024);
	CHECK(c.part == 0.5);
	CHECK(!c.trust);
	CHECK_INT(c.level, 2);
	option_done(config_table, &c);
	CHECK(c.name == NULL);
}

static void flags(void)
{
	struct config c;

	config_read(
	    ARGS("--name", "a", "--name=b=c", "--threads=64", "--wait", "10min", "--max-body=1GiB",
		"--trust", "--log-level=debug", "--secret", "x,y", "--secret=z"),
	    &c);
	CHECK_STR(c.name, "b=c");
	CHECK_INT(c.threads, 64);
	CHECK_INT(c.wait, 600000);
	CHECK_INT(c.body, 1 << 30);
	CHECK(c.trust);
	CHECK_INT(c.level, 3);
	CHECK_INT(c.secrets.n, 2);
	CHECK_STR(c.secrets.values[0], "x,y");
	CHECK_STR(c.secrets.values[1], "z");
	CHECK(option_list_has(&c.secrets, "z") && !option_list_has(&c.secrets, "x"));
	CHECK(!option_list_has(&c.secrets, NULL));
	option_done(config_table, &c);

	config_read(ARGS("--trust=off", "--name="), &c);
	CHECK(!c.trust);
	CHECK_STR(c.name, "");
	option_done(config_table, &c);
}

static void flag_beats_variable(void)
{
	struct config c;

	setenv("UMAVEZ_NAME", "from-variable", 1);
	setenv("UMAVEZ_SECRET", "one,two,,three", 1);
	setenv("UMAVEZ_WAIT", "", 1);
	setenv("DATABASE_URL", "postgresql:///a", 1);
	config_read(NO_ARGS, &c);
	CHECK_STR(c.name, "from-variable");
	CHECK_STR(c.url, "postgresql:///a");
	CHECK_INT(c.secrets.n, 3);
	CHECK_STR(c.secrets.values[2], "three");
	CHECK_INT(c.wait, 5000);
	option_done(config_table, &c);

	config_read(ARGS("--name=x", "--secret=only"), &c);
	CHECK_STR(c.name, "x");
	CHECK_INT(c.secrets.n, 1);
	CHECK_STR(c.secrets.values[0], "only");
	option_done(config_table, &c);
	unsetenv("UMAVEZ_NAME");
	unsetenv("UMAVEZ_SECRET");
	unsetenv("UMAVEZ_WAIT");
	unsetenv("DATABASE_URL");
}

static void from_files(void)
{
	char *one = text_format("%s/umavez-option-%d-1", temp_root(), (int)getpid());
	char *two = text_format("%s/umavez-option-%d-2", temp_root(), (int)getpid());
	char *both = text_format("%s,%s", one, two);
	struct config c;

	file_write(one, "se,cret\n");
	file_write(two, "two\r\n");
	config_read(ARGS("--secret-file", one, "--name-file", two, "--root-file", "/a/path"), &c);
	CHECK_STR(c.secrets.values[0], "se,cret");
	CHECK_STR(c.name, "two");
	CHECK_STR(c.root_file, "/a/path"); /* a row's own name comes first */
	option_done(config_table, &c);

	setenv("UMAVEZ_SECRET_FILE", both, 1);
	setenv("DATABASE_URL_FILE", two, 1);
	config_read(NO_ARGS, &c);
	CHECK_INT(c.secrets.n, 2);
	CHECK_STR(c.url, "two");
	option_done(config_table, &c);
	setenv("UMAVEZ_SECRET", "x", 1);
	config_refused(NO_ARGS, "UMAVEZ_SECRET and UMAVEZ_SECRET_FILE are both set");
	unsetenv("UMAVEZ_SECRET");
	unsetenv("UMAVEZ_SECRET_FILE");
	unsetenv("DATABASE_URL_FILE");

	config_refused(ARGS("--name-file=/nonexistent/x"),
	    "--name-file: /nonexistent/x: No such file or directory");
	config_refused(ARGS("--name-file=/tmp"), "--name-file: /tmp: Is a directory");
	config_refused(ARGS("--name-file=/dev/zero"),
	    "--name-file: /dev/zero: not a text of at most 65536 bytes");
	config_refused(
	    ARGS("--threads-file=/dev/null"), "--threads-file: no such option (see --help)");
	config_refused(
	    ARGS("--root-file-file=/dev/null"), "--root-file-file: no such option (see --help)");
	unlink(one);
	unlink(two);
	free(one);
	free(two);
	free(both);
}

static void unknown(void)
{
	config_refused(ARGS("--nosuch"), "--nosuch: no such option (see --help)");
	config_refused(ARGS("--nam", "x"), "--nam: no such option (see --help)");
	config_refused(ARGS("-n"), "-n: no such option (see --help)");
	config_refused(ARGS("word"), "\"word\" is not an option");
	config_refused(ARGS("--", "--name"), "\"--name\" is not an option");
	config_refused(ARGS("--name"), "--name: a value is missing");
}

static void words(void)
{
	char *argv[] = {(char *)"p", (char *)"trace", (char *)"--name", (char *)"x", (char *)"ID",
	    (char *)"-", (char *)"--", (char *)"--name", NULL};
	struct option_words found;
	struct config c = {0};
	enum option_action action;
	struct err err = ERR_INIT;

	CHECK_INT(option_parse(config_table, &c, 8, argv, &found, &action, &err), 0);
	CHECK_INT(action, OPTION_RUN);
	CHECK_INT(found.n, 4);
	CHECK_STR(found.words[0], "trace");
	CHECK_STR(found.words[1], "ID");
	CHECK_STR(found.words[2], "-");
	CHECK_STR(found.words[3], "--name");
	option_done(config_table, &c);
}

static void help_wins(void)
{
	char *argv[] = {(char *)"p", (char *)"--nosuch", (char *)"--help", NULL};
	enum option_action action;
	struct err err = ERR_INIT;
	struct config c = {0};

	CHECK_INT(option_parse(config_table, &c, 3, argv, NULL, &action, &err), 0);
	CHECK_INT(action, OPTION_HELP);
	argv[2] = (char *)"-h";
	CHECK_INT(option_parse(config_table, &c, 3, argv, NULL, &action, &err), 0);
	CHECK_INT(action, OPTION_HELP);
	argv[2] = (char *)"--version";
	CHECK_INT(option_parse(config_table, &c, 3, argv, NULL, &action, &err), 0);
	CHECK_INT(action, OPTION_VERSION);
	argv[1] = (char *)"--";
	CHECK_INT(option_parse(config_table, &c, 3, argv, NULL, &action, &err), -1);
}

/* Where words are taken, "help" may be one. */
static void help_is_a_word(void)
{
	char *argv[] = {(char *)"p", (char *)"help", NULL};
	struct option_words words;
	enum option_action action;
	struct err err = ERR_INIT;
	struct config c = {0};

	CHECK_INT(option_parse(config_table, &c, 2, argv, NULL, &action, &err), 0);
	CHECK_INT(action, OPTION_HELP);
	CHECK_INT(option_parse(config_table, &c, 2, argv, &words, &action, &err), 0);
	CHECK_INT(action, OPTION_RUN);
	CHECK_STR(words.words[0], "help");
	option_done(config_table, &c);
}

static void required(void)
{
	static const struct option one[] = {
	    {"database-url", OPT_STRING, offsetof(struct config, url), NULL, "", OPT_REQUIRED, 0, 0,
		NULL, "DATABASE_URL"},
	    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
	};
	char *argv[] = {(char *)"p", NULL};
	enum option_action action;
	struct err err = ERR_INIT;
	struct config c = {0};

	CHECK_INT(option_parse(one, &c, 1, argv, NULL, &action, &err), -1);
	CHECK_STR(err.message, "--database-url (or DATABASE_URL) is required");
}

static const struct check checks[] = {
    {"defaults", defaults},
    {"flags", flags},
    {"a flag beats the variable", flag_beats_variable},
    {"from files", from_files},
    {"unknown options", unknown},
    {"words", words},
    {"help wins", help_wins},
    {"required", required},
    {"help is a word", help_is_a_word},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common option", checks, argc, argv);
}
