/*
 * diagnosis.h - what umavez doctor finds, as the operator's role.
 */
#ifndef UMAVEZ_TESTS_CLI_DIAGNOSIS_H
#define UMAVEZ_TESTS_CLI_DIAGNOSIS_H

#include "tests/support/world.h"

/* Two shards, and the settings of a server that keeps what it was given. */
struct world *diagnosis_world(void);

/* Of the check whose text contains `what`: "fail constraint" or more of its level and name; and
 * that the exit status follows. more: options besides, NULL-terminated; NULL: none. */
void diagnosis_check_finds(
    struct world *w, const char *const *more, const char *what, const char *want);

void diagnosis_check_healthy(struct world *w);

#endif
