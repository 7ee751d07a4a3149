/*
 * traced.h - what umavez trace tells of one message, as the operator's role.
 *
 * id is any that umavez trace takes, of one message only.
 */
#ifndef UMAVEZ_TESTS_CLI_TRACED_H
#define UMAVEZ_TESTS_CLI_TRACED_H

#include "tests/support/world.h"

#include <jansson.h>

/* The object of --json. json_decref() it. */
json_t *traced(struct world *w, const char *id);

void traced_check_outcome(struct world *w, const char *id, const char *outcome);

/* And why it goes no further; "null" of one that is not stuck. */
void traced_check_stuck(struct world *w, const char *id, const char *outcome, const char *stuck);

/* "received committed ticked" */
void traced_check_steps(struct world *w, const char *id, const char *want);

#endif
