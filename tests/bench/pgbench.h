/*
 * pgbench.h - the database's own limit: pgbench calls the very statement that we ship.
 *
 * Each call takes its parameters from a row of a table (client, n, p1, p2, ...) that was filled
 * ahead of time, so that nothing but the statement is left to be done.
 */
#ifndef UMAVEZ_BENCH_PGBENCH_H
#define UMAVEZ_BENCH_PGBENCH_H

#include "tests/bench/ground.h"

struct pgbench {
	const char *statement; /* with $1, $2, ... */
	const char *table;
	bool explicit_transaction; /* BEGIN and COMMIT around it */
	int clients;
	int64_t transactions; /* of each client */
};

/* Seconds that it took. */
double pgbench_run(struct ground *g, const struct pgbench *b);

#endif
