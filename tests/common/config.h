/*
 * config.h - a program's configuration with an option of every type, and how it is read.
 */
#ifndef UMAVEZ_TESTS_COMMON_CONFIG_H
#define UMAVEZ_TESTS_COMMON_CONFIG_H

#include "common/option.h"

struct config {
	char *url, *name, *root_file, *listen;
	struct option_list secrets;
	int64_t threads, wait, body, pause, block;
	double part;
	bool trust;
	int level;
};

extern const struct option config_table[];

/* The words behind the program's name. */
#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_ARGS ((const char *const[]){NULL})

/* An error fails the check; end with option_done(config_table, config). */
void config_read(const char *const *args, struct config *config);

/* The check fails unless this is a usage error, said so, that leaves nothing to free. */
void config_refused(const char *const *args, const char *message);

#endif
