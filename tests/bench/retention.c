/*
 * retention DAYS ROWS - days of synthetic history, and what retention does to those who insert.
 *
 * Day after day is filled with ROWS / DAYS rows, all acknowledged, and what is older than three of
 * these days is dropped, while one session emits.  Prints, for each day, the
 * size of outbox and tick and how long emits took; status 1 when the slowest hundredth of them took
 * over 50 ms longer than without drops, or when the tables have not stopped growing.
 */
#include "common/clock.h"
#include "tests/schema/past.h"
#include "tests/support/world.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT_DAYS 3
#define STEP_MS 50
#define EMITS_MAX 200000
#define BASELINE_US (3 * 1000000LL)
#define DAY_MS INT64_C(86400000)

struct emitter {
	struct world *w;
	atomic_bool stop;
	int64_t took_us[EMITS_MAX];
	int n;
};

static void *emit(void *arg)
{
	struct emitter *e = arg;
	PGconn *conn = world_pg(e->w);

	for (e->n = 0; e->n < EMITS_MAX && !e->stop; e->n++) {
		int64_t began_us = clock_mono_us();

		PQclear(PQexec(conn, "SELECT intake.emit('app', gen_random_uuid()::text, 't',"
				     " 'app/1', '{}'); NOTIFY umavez_outbox"));
		e->took_us[e->n] = clock_mono_us() - began_us;
	}
	PQfinish(conn);
	return NULL;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* In ms; share of 1: the slowest. */
static double quantile(struct emitter *e, double share)
{
	int i = (int)(share * (e->n - 1));

	qsort(e->took_us, (size_t)e->n, sizeof(e->took_us[0]), ascending);
	return e->n > 0 ? (double)e->took_us[i] / 1000 : 0;
}

static void fill(struct world *w, int days_ago, long rows)
{
	world_sql(w,
	    "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data,"
	    " created_at) SELECT n %% 2, 'app', gen_random_uuid(), 't', 'app/' || n %% 1000, now(),"
	    " json_build_object('text', repeat('x', 300)), date_trunc('day', now(), 'UTC')"
	    " - %d * interval '24 hours' + n * interval '24 hours' / %ld"
	    " FROM generate_series(0, %ld - 1) AS n",
	    days_ago, rows, rows);
	for (int shard = 0; shard < 2; shard++) {
		past_tick(w, shard, 0);
		past_tick(w, shard, 0);
		past_acknowledge(w, shard);
	}
}

static int drop(struct world *w, int days_ago)
{
	int n = 0;

	for (char *dropped;; n++) {
		world_sql(w, "SELECT intake.lift_retained()");
		dropped = world_text(w, "SELECT dropped FROM intake.drop_expired(%" PRId64 ")",
		    (days_ago + KEPT_DAYS - 1) * DAY_MS);
		if (dropped == NULL)
			return n;
		free(dropped);
	}
}

static int64_t size(struct world *w)
{
	return world_int(w, "SELECT sum(pg_total_relation_size(relid))::bigint FROM"
			    " (SELECT * FROM pg_partition_tree('intake.outbox') UNION ALL"
			    "  SELECT * FROM pg_partition_tree('intake.tick')) AS t");
}

/* One day: emits go on while what is too old is dropped. */
static double one_day(struct emitter *e, int days_ago, long rows, int64_t *ret_size)
{
	pthread_t thread;
	int dropped;

	fill(e->w, days_ago, rows);
	e->stop = false;
	if (pthread_create(&thread, NULL, emit, e) != 0)
		abort();
	for (int64_t until_us = clock_mono_us() + BASELINE_US / 3; clock_mono_us() < until_us;)
		world_int(e->w, "SELECT 1 FROM pg_sleep(%f)", STEP_MS / 1000.0);
	dropped = drop(e->w, days_ago);
	e->stop = true;
	pthread_join(thread, NULL);
	*ret_size = size(e->w);
	printf("day %3d  dropped %d  %8.1f MB  emits %6d  p99 %7.1f ms  slowest %7.1f ms\n",
	    -days_ago, dropped, (double)*ret_size / 1e6, e->n, quantile(e, 0.99), quantile(e, 1));
	return quantile(e, 0.99);
}

static double baseline(struct emitter *e)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, emit, e) != 0)
		abort();
	world_int(e->w, "SELECT 1 FROM pg_sleep(%f)", (double)BASELINE_US / 1e6);
	e->stop = true;
	pthread_join(thread, NULL);
	printf("without drops: emits %d  p99 %.1f ms  slowest %.1f ms\n", e->n, quantile(e, 0.99),
	    quantile(e, 1));
	return quantile(e, 0.99);
}

int main(int argc, char **argv)
{
	int days = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 7;
	long rows = argc > 2 ? strtol(argv[2], NULL, 10) : 100000;
	struct emitter *e;
	int64_t largest = 0, last = 0;
	double usual, p99, worst = 0;

	if (days <= KEPT_DAYS || days > 60 || rows < days)
		return 2;
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		abort();
	e->w = world_open(2);
	world_sql(
	    e->w, "INSERT INTO intake.emitter (role_name, source) VALUES ('postgres', 'app')");
	past_make(e->w);
	for (int day = 0; day <= days; day++)
		world_sql(e->w,
		    "SELECT intake.make_partition('outbox', d) FROM (SELECT (now() AT TIME ZONE"
		    " 'UTC')::date - %d) AS t(d) WHERE to_regclass('intake.' ||"
		    " intake.partition_name('outbox', d)) IS NULL",
		    day);
	usual = baseline(e);
	for (int day = days; day > 0; day--) {
		p99 = one_day(e, day, rows / days, &last);
		worst = p99 > worst ? p99 : worst;
		if (day > days - KEPT_DAYS - 1)
			largest = last > largest ? last : largest;
	}
	world_close(e->w);
	free(e);
	printf(
	    "%s: p99 %.1f ms more than without drops; %.1f MB at the end, %.1f MB when the first "
	    "days were there\n",
	    worst - usual > 50 || last > largest * 3 / 2 ? "FAILED" : "ok", worst - usual,
	    (double)last / 1e6, (double)largest / 1e6);
	return worst - usual > 50 || last > largest * 3 / 2;
}
