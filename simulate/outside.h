/*
 * outside.h - whether a handler writes what no rollback undoes, and then how often it did.
 *
 * Every call of the user's handler leaves a line in PostgreSQL's log, which no rollback takes back.
 * Once everything is applied, and nothing else writes, some calls are made again and rolled back:
 * if a transaction has committed meanwhile, the handler writes through a connection of its own, and
 * each of its calls was an effect.  One that is idempotent there leaves nothing the second time.
 */
#ifndef UMAVEZ_SIMULATE_OUTSIDE_H
#define UMAVEZ_SIMULATE_OUTSIDE_H

#include "tests/support/world.h"

/* Before witness.apply is made, which does OUTSIDE_RECORD for its event. */
void outside_install(struct world *w);
#define OUTSIDE_RECORD                                                                             \
	"RAISE LOG 'witness.call % %', event ->> 'source', event ->> 'id';"                        \
	"INSERT INTO witness.sample SELECT event"                                                  \
	" WHERE (SELECT count(*) FROM witness.sample) < 20;"

/* function: as it may stand in a statement. No service may be running. */
bool outside_writes(struct world *w, const char *function);

/* From now on witness.counted() counts calls. */
void outside_count(struct world *w);

#endif
