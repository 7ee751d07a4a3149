/*
 * settings.h - what a consumer asks the effects database once, when it starts.
 */
#ifndef UMAVEZ_CONSUMER_SETTINGS_H
#define UMAVEZ_CONSUMER_SETTINGS_H

#include "common/err.h"

struct settings {
	unsigned shards; /* number of streams */
	char *handler; /* schema-qualified and quoted, with its argument: my_schema."Apply"(json) */
};

/*
 * ERR_MISMATCH: the schema is missing, older or newer than this binary, or was not set up with a
 * number of shards.  ERR_USAGE: there is no function `handler` that takes one json, or a right is
 * missing, and the message says which GRANT gives it.  Both are final.
 */
int settings_read(const char *database_url, const char *handler, struct settings *ret_settings,
    struct err *err) warn_unused;
void settings_done(struct settings *s);

#endif
