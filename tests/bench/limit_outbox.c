#include "tests/bench/limit_outbox.h"

#include "common/clock.h"
#include "relay_text.h"
#include "tests/support/die.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct reader {
	struct world *w;
	int shard;
	int64_t rows;
};

static void check(PGconn *conn, PGresult *res, ExecStatusType wanted)
{
	if (PQresultStatus(res) != wanted)
		die("reading the outbox: %s", PQerrorMessage(conn));
}

static void stream_tick(struct reader *r, PGconn *conn, const char *tick)
{
	char shard[8];
	const char *params[] = {shard, tick, "0", "1048576"};
	PGresult *res;

	snprintf(shard, sizeof(shard), "%d", r->shard);
	if (PQsendQueryPrepared(conn, "read", 4, params, NULL, NULL, 0) != 1 ||
	    PQsetSingleRowMode(conn) != 1)
		die("reading the outbox: %s", PQerrorMessage(conn));
	while ((res = PQgetResult(conn)) != NULL) {
		if (PQresultStatus(res) == PGRES_SINGLE_TUPLE)
			r->rows++;
		else
			check(conn, res, PGRES_TUPLES_OK);
		PQclear(res);
	}
}

static void *stream_shard(void *arg)
{
	struct reader *r = arg;
	PGconn *conn = world_pg(r->w);
	char *sql =
	    text_format("SELECT tick FROM intake.tick WHERE shard = %d ORDER BY tick", r->shard);
	PGresult *ticks, *res = PQexec(conn, relay_sql_session_sql);

	check(conn, res, PGRES_COMMAND_OK);
	PQclear(res);
	res = PQprepare(conn, "read", relay_sql_read_sql, 0, NULL);
	check(conn, res, PGRES_COMMAND_OK);
	PQclear(res);
	ticks = PQexec(conn, sql);
	check(conn, ticks, PGRES_TUPLES_OK);
	for (int i = 0; i < PQntuples(ticks); i++)
		stream_tick(r, conn, PQgetvalue(ticks, i, 0));
	PQclear(ticks);
	PQfinish(conn);
	free(sql);
	return NULL;
}

double limit_outbox(struct ground *g, int64_t *ret_rows)
{
	struct reader readers[GROUND_SHARDS];
	pthread_t threads[GROUND_SHARDS];
	int64_t began_us = clock_mono_us();

	*ret_rows = 0;
	for (int i = 0; i < GROUND_SHARDS; i++) {
		readers[i] = (struct reader){g->w, i, 0};
		if (pthread_create(&threads[i], NULL, stream_shard, &readers[i]) != 0)
			die("no thread");
	}
	for (int i = 0; i < GROUND_SHARDS; i++) {
		pthread_join(threads[i], NULL);
		*ret_rows += readers[i].rows;
	}
	return (double)(clock_mono_us() - began_us) / 1e6;
}
