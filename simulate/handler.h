/*
 * handler.h - the user's SQL in the simulation's database: schema files, handler, effect query.
 *
 * The consumer runs WITNESS_HANDLER, which leaves its row and calls the user's function in turn, in
 * the same transaction.  It also draws from a sequence, which no rollback sets back: so calls that
 * were rolled back are known as well.
 */
#ifndef UMAVEZ_SIMULATE_HANDLER_H
#define UMAVEZ_SIMULATE_HANDLER_H

#include "simulate/config.h"
#include "tests/support/world.h"

/*
 * ERR_USAGE, with what PostgreSQL says of it. After witness_install().  *ret_function is the
 * handler's name as it may stand in a statement; malloc'd.
 */
int handler_install(
    struct world *w, const struct config *config, char **ret_function, struct err *err) warn_unused;

#endif
