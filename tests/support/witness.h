/*
 * witness.h - what a test knows by itself: the schema `witness`, beside umavez's own tables.
 *
 * Consumers started with --handler WITNESS_HANDLER leave a row for every effect that they commit,
 * in a table without any key, so that an effect applied twice shows.
 */
#ifndef UMAVEZ_TESTS_WITNESS_H
#define UMAVEZ_TESTS_WITNESS_H

#include "tests/support/load.h"
#include "tests/support/world.h"

#include <stdint.h>

#define WITNESS_HANDLER "witness.apply"
#define WITNESS_FLAKY_HANDLER "witness.apply_flaky" /* fails one time in five */

/* After migration, once a world. */
void witness_install(struct world *w);

/* Add what the producers answered to this load. */
void witness_answers(struct world *w, const struct load *l);

/* Copy the streams as they are now into witness.entry, instead of what it held. */
void witness_streams(struct world *w);

/* How many entries were ever added to the streams, those trimmed since included (XINFO STREAM). */
int64_t witness_entries_added(struct world *w);

#endif
