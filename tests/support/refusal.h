/*
 * refusal.h - a service that will not start as it is configured.
 */
#ifndef UMAVEZ_TESTS_REFUSAL_H
#define UMAVEZ_TESTS_REFUSAL_H

#include "tests/support/world.h"

/* With this option the service ends with status 2, and all that it has printed is `said`. */
void check_refused(
    struct world *w, const char *service, const char *option, const char *value, const char *said);

#endif
