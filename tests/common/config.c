#include "tests/common/config.h"

#include "tests/support/check.h"

#include <string.h>

const struct option config_table[] = {
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
	return option_parse(config_table, config, argc, argv, NULL, &action, err);
}

void config_read(const char *const *args, struct config *config)
{
	struct err err = ERR_INIT;

	if (parse(args, config, &err) < 0)
		CU_FAIL_FATAL(err.message);
}

void config_refused(const char *const *args, const char *message)
{
	struct err err = ERR_INIT;
	struct config config;

	CHECK_INT(parse(args, &config, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK_STR(err.message, message);
	CHECK(config.name == NULL && config.secrets.values == NULL);
}
