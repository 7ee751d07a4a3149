/*
 * option_value.h - one value of an option: text to configuration, and back for people.
 *
 * Internal to option.c and option_print.c.
 */
#ifndef UMAVEZ_OPTION_VALUE_H
#define UMAVEZ_OPTION_VALUE_H

#include "common/option.h"

/* One whose member is a char *. */
bool option_value_is_text(const struct option *row);

/* Write text into the row's member; a list grows by one.  Errors name `source` ("--batch"), and the
 * value unless it is secret or a URL. */
int option_value_set(const struct option *row, void *config, const char *source, const char *text,
    struct err *err) warn_unused;

/* Free and zero what a string or a list holds. */
void option_value_clear(const struct option *row, void *config);

/* False: a required row would be missing. */
bool option_value_present(const struct option *row, const void *config);

/* Whether --name-file is there too: for what is text, and not the name of a file already. */
bool option_value_takes_file(const struct option *row);

/* As one would write it; malloc'd. Secrets as "***", passwords in URLs masked. */
char *option_value_text(const struct option *row, const void *config);

#endif
