/*
 * What people are shown of the options: help, the values at the start, and no secret anywhere.
 */
#include "tests/common/config.h"
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
	    {"postgresql://h/db?password= secret&x=1", "postgresql://h/db?password=***&x=1"},
	    {"postgresql://h/db?password=se cret&x=1", "postgresql://h/db?password=***&x=1"},
	    {"redis+cluster://u:secret@n1:1,n2:2", "redis+cluster://u:***@n1:1,n2:2"},
	    {"redis+cluster://n1:1?password=a b&x=1", "redis+cluster://n1:1?password=***&x=1"},
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

static void dumped(void)
{
	struct config c;
	int saved, memory;

	config_read(ARGS("--database-url=postgresql://u:hunter2@h/db", "--secret=hunter2",
			"--wait=90s", "--max-body=3MiB", "--part", "0.25"),
	    &c);
	memory = capture_begin(STDERR_FILENO, &saved);
	option_dump(config_table, &c);
	char *text = capture_end(STDERR_FILENO, saved, memory);
	CHECK(strstr(text, "hunter2") == NULL);
	CHECK(strstr(text,
		  " database-url=postgresql://u:***@h/db name=nobody root-file=\"\" secret=***"
		  " threads=4 wait=90s max-body=3MiB pause=0ms block-size=0B listen=\"\" part=0.25 "
		  "trust=off log-level=info\n") != NULL);
	free(text);
	option_done(config_table, &c);
}

static void help(void)
{
	int saved, memory = capture_begin(STDOUT_FILENO, &saved);

	option_help("program", "[options]", config_table);
	char *text = capture_end(STDOUT_FILENO, saved, memory);
	CHECK(strncmp(text, "Usage: program [options]\n", 25) == 0);
	CHECK(strstr(text, "  --database-url TEXT ") && strstr(text, "[DATABASE_URL]"));
	CHECK(strstr(text, "[UMAVEZ_MAX_BODY]") && strstr(text, "default: 256KiB"));
	CHECK(strstr(text, "  --listen ADDRESS ") && !strstr(text, "--root-file-file"));
	CHECK(!strstr(text, "--name-file"));
	CHECK(strstr(text, "--secret-file PATH") && strstr(text, "one of: error|warn|info|debug"));
	free(text);
}

static const struct check checks[] = {
    {"secrets are not quoted", secrets_are_not_quoted},
    {"masked URLs", masked_urls},
    {"dump", dumped},
    {"help", help},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common option print", checks, argc, argv);
}
