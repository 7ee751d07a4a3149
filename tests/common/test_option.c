#include "common/option.h"
#include "tests/support/check.h"
#include "tests/support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct config {
	char *url, *name, *root_file, *listen;
	struct option_list secrets;
	int64_t threads, wait, body, pause, block;
	double part;
	bool trust;
	int level;
};

static const struct option table[] = {
    {"database-url", OPT_STRING, offsetof(struct config, url), NULL, "Where the data is", 0, 0, 0,
	NULL, "DATABASE_URL"},
    {"name", OPT_STRING, offsetof(struct config, name), "nobody", "Who", 0, 0, 0, NULL, NULL},
    {"root-file", OPT_STRING, offsetof(struct config, root_file), NULL, "A path", 0, 0, 0, NULL,
	NULL},
    {"secret", OPT_LIST, offsetof(struct config, secrets), NULL, "Keys", OPT_SECRET, 0, 0, NULL,
	NULL},
    {"threads", OPT_INT, offsetof(struct config, threads), "4", "Threads", 0, 1, 64, NULL, NULL},
    {"wait", OPT_DURATION, offsetof(struct config, wait), "5s", "How long", 0, 0, 0, NULL, NULL},
    {"max-body", OPT_SIZE, offsetof(struct config, body), "256KiB", "How much", 0, 0, 0, NULL,
	NULL},
    {"pause", OPT_DURATION, offsetof(struct config, pause), NULL, "Between", 0, 10, 90000, NULL,
	NULL},
    {"block-size", OPT_SIZE, offsetof(struct config, block), NULL, "Of one", 0, 1024, 64 << 20,
	NULL, NULL},
    {"listen", OPT_ADDRESS, offsetof(struct config, listen), NULL, "Where", 0, 0, 0, NULL, NULL},
    {"part", OPT_FRACTION, offsetof(struct config, part), "0.5", "Of all", 0, 0, 0, NULL, NULL},
    {"trust", OPT_BOOL, offsetof(struct config, trust), "off", "Whether", 0, 0, 0, NULL, NULL},
    {"log-level", OPT_CHOICE, offsetof(struct config, level), "info", "What", 0, 0, 0,
	"error|warn|info|debug", NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

enum { MAX_ARGS = 16 };

static int parse(const char *const *args, struct config *config, struct err *err)
{
	char *argv[MAX_ARGS] = {(char *)"program"};
	enum option_action action;
	int argc = 1;

	memset(config, 0, sizeof(*config));
	for (; args[argc - 1]; argc++)
		argv[argc] = (char *)args[argc - 1];
	return option_parse(table, config, argc, argv, NULL, &action, err);
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_ARGS ((const char *const[]){NULL})

static void parse_ok(const char *const *args, struct config *config)
{
	struct err err = ERR_INIT;

	if (parse(args, config, &err) < 0)
		CU_FAIL_FATAL(err.message);
}

static void refused(const char *const *args, const char *message)
{
	struct err err = ERR_INIT;
	struct config config;

	CHECK_INT(parse(args, &config, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK_STR(err.message, message);
	CHECK(config.name == NULL && config.secrets.values == NULL);
}

static void defaults(void)
{
	struct config c;

	parse_ok(NO_ARGS, &c);
	CHECK(c.url == NULL);
	CHECK_STR(c.name, "nobody");
	CHECK_INT(c.secrets.n, 0);
	CHECK_INT(c.threads, 4);
	CHECK_INT(c.wait, 5000);
	CHECK_INT(c.body, INT64_C(256) * 1024);
	CHECK(c.part == 0.5);
	CHECK(!c.trust);
	CHECK_INT(c.level, 2);
	option_done(table, &c);
	CHECK(c.name == NULL);
}

static void flags(void)
{
	struct config c;

	parse_ok(
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
	option_done(table, &c);

	parse_ok(ARGS("--trust=off", "--name="), &c);
	CHECK(!c.trust);
	CHECK_STR(c.name, "");
	option_done(table, &c);
}

static void flag_beats_variable(void)
{
	struct config c;

	setenv("UMAVEZ_NAME", "from-variable", 1);
	setenv("UMAVEZ_SECRET", "one,two,,three", 1);
	setenv("UMAVEZ_WAIT", "", 1);
	setenv("DATABASE_URL", "postgresql:///a", 1);
	parse_ok(NO_ARGS, &c);
	CHECK_STR(c.name, "from-variable");
	CHECK_STR(c.url, "postgresql:///a");
	CHECK_INT(c.secrets.n, 3);
	CHECK_STR(c.secrets.values[2], "three");
	CHECK_INT(c.wait, 5000);
	option_done(table, &c);

	parse_ok(ARGS("--name=x", "--secret=only"), &c);
	CHECK_STR(c.name, "x");
	CHECK_INT(c.secrets.n, 1);
	CHECK_STR(c.secrets.values[0], "only");
	option_done(table, &c);
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
	parse_ok(ARGS("--secret-file", one, "--name-file", two, "--root-file", "/a/path"), &c);
	CHECK_STR(c.secrets.values[0], "se,cret");
	CHECK_STR(c.name, "two");
	CHECK_STR(c.root_file, "/a/path"); /* a row's own name comes first */
	option_done(table, &c);

	setenv("UMAVEZ_SECRET_FILE", both, 1);
	setenv("DATABASE_URL_FILE", two, 1);
	parse_ok(NO_ARGS, &c);
	CHECK_INT(c.secrets.n, 2);
	CHECK_STR(c.url, "two");
	option_done(table, &c);
	setenv("UMAVEZ_SECRET", "x", 1);
	refused(NO_ARGS, "UMAVEZ_SECRET and UMAVEZ_SECRET_FILE are both set");
	unsetenv("UMAVEZ_SECRET");
	unsetenv("UMAVEZ_SECRET_FILE");
	unsetenv("DATABASE_URL_FILE");

	refused(ARGS("--name-file=/nonexistent/x"),
	    "--name-file: /nonexistent/x: No such file or directory");
	refused(ARGS("--name-file=/tmp"), "--name-file: /tmp: Is a directory");
	refused(ARGS("--name-file=/dev/zero"),
	    "--name-file: /dev/zero: not a text of at most 65536 bytes");
	refused(ARGS("--threads-file=/dev/null"), "--threads-file: no such option");
	refused(ARGS("--root-file-file=/dev/null"), "--root-file-file: no such option");
	unlink(one);
	unlink(two);
	free(one);
	free(two);
	free(both);
}

static void bad_values(void)
{
	refused(ARGS("--threads=0"), "--threads: out of range (1 to 64)");
	refused(ARGS("--threads=65"), "--threads: out of range (1 to 64)");
	refused(ARGS("--pause=1h"), "--pause: out of range (10ms to 90s)");
	refused(ARGS("--block-size=0"), "--block-size: out of range (1KiB to 64MiB)");
	refused(ARGS("--listen=nowhere"), "--listen: \"nowhere\" is not an address (host:port, "
					  "[v6]:port, port or unix:/path)");
	refused(ARGS("--threads=4x"), "--threads: \"4x\" is not a whole number");
	refused(ARGS("--threads=-1"), "--threads: \"-1\" is not a whole number");
	refused(ARGS("--threads=+1"), "--threads: \"+1\" is not a whole number");
	refused(ARGS("--threads= 1"), "--threads: \" 1\" is not a whole number");
	refused(ARGS("--threads="), "--threads: \"\" is not a whole number");
	refused(ARGS("--threads=99999999999999999999"),
	    "--threads: \"99999999999999999999\" is not a whole number");
	refused(ARGS("--wait=5"), "--wait: \"5\" is not a duration (500ms 5s 10min 12h 7d)");
	refused(ARGS("--wait=5m"), "--wait: \"5m\" is not a duration (500ms 5s 10min 12h 7d)");
	refused(ARGS("--wait=200000000000d"),
	    "--wait: \"200000000000d\" is not a duration (500ms 5s 10min 12h 7d)");
	refused(
	    ARGS("--max-body=1KB"), "--max-body: \"1KB\" is not a size (512B 256KiB 1MiB 1GiB)");
	refused(ARGS("--part=1.01"), "--part: \"1.01\" is not a fraction (0 to 1)");
	refused(ARGS("--part=-0"), "--part: \"-0\" is not a fraction (0 to 1)");
	refused(ARGS("--part=0.5.5"), "--part: \"0.5.5\" is not a fraction (0 to 1)");
	refused(ARGS("--part=nan"), "--part: \"nan\" is not a fraction (0 to 1)");
	refused(ARGS("--part="), "--part: \"\" is not a fraction (0 to 1)");
	refused(ARGS("--trust=maybe"), "--trust: \"maybe\" is not on or off");
	refused(ARGS("--log-level=in"), "--log-level: \"in\" is not one of error|warn|info|debug");
	refused(ARGS("--log-level="), "--log-level: \"\" is not one of error|warn|info|debug");
	setenv("UMAVEZ_THREADS", "many", 1);
	refused(NO_ARGS, "UMAVEZ_THREADS: \"many\" is not a whole number");
	unsetenv("UMAVEZ_THREADS");
}

static void zero_needs_no_unit(void)
{
	struct config c;

	parse_ok(ARGS("--wait=0", "--max-body=0B"), &c);
	CHECK_INT(c.wait, 0);
	CHECK_INT(c.body, 0);
	option_done(table, &c);
}

static void unknown(void)
{
	refused(ARGS("--nosuch"), "--nosuch: no such option");
	refused(ARGS("--nam", "x"), "--nam: no such option");
	refused(ARGS("-n"), "-n: no such option");
	refused(ARGS("word"), "\"word\" is not an option");
	refused(ARGS("--", "--name"), "\"--name\" is not an option");
	refused(ARGS("--name"), "--name: a value is missing");
}

static void checked_texts(void)
{
	static const struct option checked[] = {
	    {"name", OPT_NAME, offsetof(struct config, name), "nobody", "", 0, 0, 0, NULL, NULL},
	    {"url", OPT_PG_URL, offsetof(struct config, url), NULL, "", 0, 0, 0, NULL, NULL},
	    {"root", OPT_REDIS_URL, offsetof(struct config, root_file), NULL, "", 0, 0, 0, NULL,
		NULL},
	    {0},
	};
	static const struct {
		const char *word, *message;
	} rows[] = {
	    {"--name=A-z_0.9", NULL},
	    {"--name=", "--name: \"\" is not a name"},
	    {"--name=a{b", "--name: \"a{b\" is not a name (1 to 64 letters"},
	    {"--name=1234567890123456789012345678901234567890123456789012345678901234", NULL},
	    {"--name=12345678901234567890123456789012345678901234567890123456789012345",
		"5\" is not a name"},
	    {"--url=postgresql://u:hunter2@h/d", NULL},
	    {"--url=host=h password=hunter2", NULL},
	    {"--url=u:hunter2@h/d", "--url: database URL: not"},
	    {"--root=redis://:hunter2@h", NULL},
	    {"--root=http://:hunter2@h", "--root: Redis URL: bad scheme"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *argv[] = {(char *)"p", (char *)rows[i].word, NULL};
		enum option_action action;
		struct err err = ERR_INIT;
		struct config c = {0};

		CHECK_INT(option_parse(checked, &c, 2, argv, NULL, &action, &err),
		    rows[i].message ? -1 : 0);
		CHECK(!rows[i].message ||
		      (err.kind == ERR_USAGE && strstr(err.message, rows[i].message)));
		CHECK(strstr(err.message, "hunter2") == NULL);
		option_done(checked, &c);
	}
}

static void words(void)
{
	char *argv[] = {(char *)"p", (char *)"trace", (char *)"--name", (char *)"x", (char *)"ID",
	    (char *)"-", (char *)"--", (char *)"--name", NULL};
	struct option_words found;
	struct config c = {0};
	enum option_action action;
	struct err err = ERR_INIT;

	CHECK_INT(option_parse(table, &c, 8, argv, &found, &action, &err), 0);
	CHECK_INT(action, OPTION_RUN);
	CHECK_INT(found.n, 4);
	CHECK_STR(found.words[0], "trace");
	CHECK_STR(found.words[1], "ID");
	CHECK_STR(found.words[2], "-");
	CHECK_STR(found.words[3], "--name");
	option_done(table, &c);
}

static void help_wins(void)
{
	char *argv[] = {(char *)"p", (char *)"--nosuch", (char *)"--help", NULL};
	enum option_action action;
	struct err err = ERR_INIT;
	struct config c = {0};

	CHECK_INT(option_parse(table, &c, 3, argv, NULL, &action, &err), 0);
	CHECK_INT(action, OPTION_HELP);
	argv[2] = (char *)"-h";
	CHECK_INT(option_parse(table, &c, 3, argv, NULL, &action, &err), 0);
	CHECK_INT(action, OPTION_HELP);
	argv[2] = (char *)"--version";
	CHECK_INT(option_parse(table, &c, 3, argv, NULL, &action, &err), 0);
	CHECK_INT(action, OPTION_VERSION);
	argv[1] = (char *)"--";
	CHECK_INT(option_parse(table, &c, 3, argv, NULL, &action, &err), -1);
}

/* Where words are taken, "help" may be one. */
static void help_is_a_word(void)
{
	char *argv[] = {(char *)"p", (char *)"help", NULL};
	struct option_words words;
	enum option_action action;
	struct err err = ERR_INIT;
	struct config c = {0};

	CHECK_INT(option_parse(table, &c, 2, argv, NULL, &action, &err), 0);
	CHECK_INT(action, OPTION_HELP);
	CHECK_INT(option_parse(table, &c, 2, argv, &words, &action, &err), 0);
	CHECK_INT(action, OPTION_RUN);
	CHECK_STR(words.words[0], "help");
	option_done(table, &c);
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

static void secrets_are_not_quoted(void)
{
	static const struct option one[] = {
	    {"pin", OPT_INT, offsetof(struct config, threads), NULL, "", OPT_SECRET, 0, 0, NULL,
		NULL},
	    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
	};
	char *argv[] = {(char *)"p", (char *)"--pin=hunter2", NULL};
	enum option_action action;
	struct err err = ERR_INIT;
	struct config c = {0};

	CHECK_INT(option_parse(one, &c, 2, argv, NULL, &action, &err), -1);
	CHECK(strstr(err.message, "hunter2") == NULL);
}

static void masked_urls(void)
{
	static const struct {
		const char *url, *masked;
	} cases[] = {
	    {"postgresql://u:secret@h:5432/db", "postgresql://u:***@h:5432/db"},
	    {"redis://:se/cr@et@h/0", "redis://:***@h/0"},
	    {"unix://u:secret@/run/redis?db=2", "unix://u:***@/run/redis?db=2"},
	    {"postgresql://u@h/db", "postgresql://u@h/db"},
	    {"redis://h:6379/1", "redis://h:6379/1"},
	    {"postgresql://h/db?user=u&password=secret&x=1",
		"postgresql://h/db?user=u&password=***&x=1"},
	    {"host=h password = secret user=u", "host=h password = *** user=u"},
	    {"host=h password='se cret' user=u", "host=h password=***"},
	    {"host=h sslpassword=secret PASSWORD=more", "host=h sslpassword=*** PASSWORD=***"},
	    {"host=h password=se\\ cret user=u", "host=h password=*** user=u"},
	    {"password\t=\nsecret\tuser=u", "password\t=\n***\tuser=u"},
	    {"password=se&cret user=u", "password=*** user=u"},
	    {"postgresql://h/db?password=se cret&x=1", "postgresql://h/db?password=***&x=1"},
	    {"redis-sentinel://u:secret@s1:1,s2:2/m/0?sentinel_password=sec "
	     "ret&sentinel_username=w",
		"redis-sentinel://u:***@s1:1,s2:2/m/0?sentinel_password=***&sentinel_username=w"},
	    {"postgresql://u:secret@h:5432/db?password=a@b&x=1",
		"postgresql://u:***@h:5432/db?password=***&x=1"},
	    {"postgresql://h:5432/db?password=a@b", "postgresql://h:5432/db?password=***"},
	    {"postgresql://h1:1,h2:2/db?password=a@b", "postgresql://h1:1,h2:2/db?password=***"},
	    {"postgresql://u:se?password=cr@h/db", "postgresql://u:***"},
	    {"postgresql://h/db?p%61ssword=secret&x=1", "postgresql://h/db?p%61ssword=***&x=1"},
	    {"postgresql://h/db?ssl%50%41%53%53%57%4f%52%44=secret",
		"postgresql://h/db?ssl%50%41%53%53%57%4f%52%44=***"},
	    {"host=h p%61ssword=plain", "host=h p%61ssword=plain"},
	    {"postgresql://h/db?p%6=x&%", "postgresql://h/db?p%6=x&%"},
	    {"", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *masked = option_mask_url(cases[i].url);
		CHECK_STR(masked, cases[i].masked);
		free(masked);
	}
}

/* Redirect a standard stream into memory and back. */
static int capture_begin(int fd, int *saved)
{
	int memory = memfd_create("out", 0);

	fflush(NULL);
	*saved = dup(fd);
	dup2(memory, fd);
	return memory;
}

static char *capture_end(int fd, int saved, int memory)
{
	fflush(NULL);
	dup2(saved, fd);
	close(saved);
	off_t len = lseek(memory, 0, SEEK_END);
	char *text = calloc(1, (size_t)len + 1);
	CHECK_INT(pread(memory, text, (size_t)len, 0), len);
	close(memory);
	return text;
}

static void dumped(void)
{
	struct config c;
	int saved, memory;

	parse_ok(ARGS("--database-url=postgresql://u:hunter2@h/db", "--secret=hunter2",
		     "--wait=90s", "--max-body=3MiB", "--part", "0.25"),
	    &c);
	memory = capture_begin(STDERR_FILENO, &saved);
	option_dump(table, &c);
	char *text = capture_end(STDERR_FILENO, saved, memory);
	CHECK(strstr(text, "hunter2") == NULL);
	CHECK(strstr(text,
		  " database-url=postgresql://u:***@h/db name=nobody root-file=\"\" secret=***"
		  " threads=4 wait=90s max-body=3MiB pause=0ms block-size=0B listen=\"\" part=0.25 "
		  "trust=off log-level=info\n") != NULL);
	free(text);
	option_done(table, &c);
}

static void help(void)
{
	int saved, memory = capture_begin(STDOUT_FILENO, &saved);

	option_help("program", "[options]", table);
	char *text = capture_end(STDOUT_FILENO, saved, memory);
	CHECK(strncmp(text, "Usage: program [options]\n", 25) == 0);
	CHECK(strstr(text, "  --database-url TEXT ") && strstr(text, "[DATABASE_URL]"));
	CHECK(strstr(text, "[UMAVEZ_MAX_BODY]") && strstr(text, "default: 256KiB"));
	CHECK(strstr(text, "  --listen ADDRESS ") && !strstr(text, "--root-file-file"));
	CHECK(strstr(text, "--secret-file PATH") && strstr(text, "one of: error|warn|info|debug"));
	free(text);
}

static void endpoints(void)
{
	static const struct {
		const char *text, *host;
		int port;
	} good[] = {
	    {"127.0.0.1:9101", "127.0.0.1", 9101},
	    {"[::1]:80", "::1", 80},
	    {"8080", NULL, 8080},
	    {":8080", NULL, 8080},
	    {"host:0", "host", 0},
	    {"unix:/run/x", "/run/x", -1},
	};
	static const char *const bad[] = {"", ":", "host:", "host", "::1:80", "[::1]", "[::1:80",
	    "h:65536", "h:-1", "h:8x", "h:999999", "unix:", "unix:run/x", "a:b:1"};
	struct err err = ERR_INIT;
	char *host;
	int port;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_INT(option_endpoint(good[i].text, &host, &port, &err), 0);
		CHECK((host == NULL) == (good[i].host == NULL));
		if (host)
			CHECK_STR(host, good[i].host);
		CHECK_INT(port, good[i].port);
		free(host);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (option_endpoint(bad[i], &host, &port, &err) == 0)
			CU_FAIL_FATAL(bad[i]);
		CHECK_INT(err.kind, ERR_USAGE);
	}
}

static const struct check checks[] = {
    {"defaults", defaults},
    {"flags", flags},
    {"a flag beats the variable", flag_beats_variable},
    {"from files", from_files},
    {"bad values", bad_values},
    {"zero needs no unit", zero_needs_no_unit},
    {"unknown options", unknown},
    {"texts that are checked", checked_texts},
    {"words", words},
    {"help wins", help_wins},
    {"required", required},
    {"secrets are not quoted", secrets_are_not_quoted},
    {"masked URLs", masked_urls},
    {"dump", dumped},
    {"help", help},
    {"help is a word", help_is_a_word},
    {"endpoints", endpoints},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common option", checks, argc, argv);
}
