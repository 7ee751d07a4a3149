/*
 * The chain of ticks: which rows stand in which tick, through repairs and replays.
 */
#include "common/clock.h"
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct world *world;

/* The root that migrate made is replaced: xids in these chains are small numbers. */
static void clean(void)
{
	world_sql(world, "TRUNCATE intake.outbox, intake.tick");
	world_sql(world, "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
			 " VALUES (0, 0, 1, '100:100:')");
}

static void row(int id, int xid)
{
	world_sql(world,
	    "INSERT INTO intake.outbox (id, shard, xid, source, message_id, type, subject, time, "
	    "data)"
	    " OVERRIDING SYSTEM VALUE VALUES (%d, 0, '%d', 's', '%d', 't', 's/1', now(), '{}')",
	    id, xid, id);
}

static void tick(int name, const char *snapshot)
{
	world_sql(world,
	    "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
	    " SELECT 0, max(tick), %d, '%s' FROM intake.tick",
	    name, snapshot);
}

static void tick_from(int name, const char *snapshot, int from_tick, int from_id, bool replay)
{
	world_sql(world,
	    "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot, from_tick, from_id, "
	    "replay)"
	    " SELECT 0, max(tick), %d, '%s', %d, %d, %s FROM intake.tick",
	    name, snapshot, from_tick, from_id, replay ? "true" : "false");
}

/* The ids in this tick by in_tick(), and by its windows and cap, as the relay reads them. */
static void check_batch(int name, const char *ids)
{
	char sql[600];

	snprintf(sql, sizeof(sql),
	    "SELECT string_agg(id::text, ' ' ORDER BY id) FROM intake.outbox"
	    " WHERE intake.in_tick(0::smallint, %d, id, xid)",
	    name);
	CHECK_TEXT(world, sql, ids);
	snprintf(sql, sizeof(sql),
	    "SELECT string_agg(id::text, ' ' ORDER BY id) FROM intake.tick_window(0::smallint, %d) "
	    "w"
	    " JOIN intake.outbox o ON o.id > w.after_id AND pg_visible_in_snapshot(o.xid, w.hi)"
	    " AND NOT pg_visible_in_snapshot(o.xid, w.lo)"
	    " WHERE o.id <= intake.tick_cap(0::smallint, %d)",
	    name, name);
	CHECK_TEXT(world, sql, ids);
}

static void check_ticks_of(int id, const char *ticks)
{
	char sql[300];

	snprintf(sql, sizeof(sql),
	    "SELECT string_agg(t.tick::text, ' ' ORDER BY t.tick) FROM intake.outbox o,"
	    " intake.ticks_of(o.shard, o.id, o.xid) AS t WHERE o.id = %d",
	    id);
	CHECK_TEXT(world, sql, ticks);
}

/* Transactions 101, 103, 104 (two rows) and 106; 103 is still open in the first tick. */
static void make_chain(void)
{
	clean();
	row(1, 101);
	row(2, 103);
	row(3, 104);
	row(4, 106);
	row(5, 104);
	tick(10, "103:105:103");
	tick(20, "107:107:");
}

static void check_plain(void)
{
	make_chain();
	check_batch(1, NULL);
	check_batch(10, "1 3 5");
	check_batch(20, "2 4");
	check_ticks_of(1, "10");
	check_ticks_of(2, "20");
	check_ticks_of(5, "10");
	row(6, 110);
	check_ticks_of(6, NULL);
}

/* After (10, 3): the rest of tick 10, all of 20 (void now), and what is new. */
static void check_repair(void)
{
	make_chain();
	row(6, 108);
	tick_from(50, "110:110:", 10, 3, false);
	check_batch(10, "1 3");
	check_batch(20, NULL);
	check_batch(50, "2 4 5 6");
	check_ticks_of(3, "10");
	check_ticks_of(2, "50");
	check_ticks_of(5, "50");
	row(7, 111);
	tick(51, "112:112:");
	check_batch(51, "7");
}

static void check_repair_inside_repair(void)
{
	make_chain();
	tick_from(50, "110:110:", 10, 3, false);
	row(6, 111);
	row(7, 113);
	tick(55, "112:112:");
	tick_from(60, "115:115:", 50, 4, false);
	check_batch(10, "1 3");
	check_batch(50, "2 4");
	check_batch(55, NULL);
	check_batch(60, "5 6 7");
	/* And one that goes back behind both. */
	tick_from(70, "115:115:", 10, 1, false);
	check_batch(10, "1");
	check_batch(50, NULL);
	check_batch(60, NULL);
	check_batch(70, "2 3 4 5 6 7");
	check_ticks_of(5, "70");
}

static void check_replay(void)
{
	make_chain();
	tick_from(50, "110:110:", 10, 3, true);
	check_batch(10, "1 3 5");
	check_batch(20, "2 4");
	check_batch(50, "2 4 5");
	check_ticks_of(5, "10 50");
	check_ticks_of(4, "20 50");
	check_ticks_of(1, "10");
	/* A repair from within the replayed rows. */
	tick_from(60, "110:110:", 50, 4, false);
	check_batch(20, "2 4");
	check_batch(50, "2 4");
	check_batch(60, "5");
	check_ticks_of(5, "10 60");
}

static void check_chain_key(void)
{
	PGconn *conn = world_pg(world);
	PGresult *res;

	make_chain();
	res = PQexec(conn, "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
			   " VALUES (0, 10, 30, '107:107:')");
	CHECK_STR(PQresultErrorField(res, PG_DIAG_SQLSTATE), "23505");
	PQclear(res);
	PQfinish(conn);
}

/*
 * Random chains against a model that knows nothing of windows: the list of positions that a relay
 * would have published.  A repair cuts the list after its position and then publishes what stood
 * there, and what is new; a replay does so without cutting.
 */
enum { ROWS = 24, TICKS = 10, CHAINS = 30 };

struct position {
	int tick, id;
};

struct model {
	int xid[ROWS];               /* of row id = index + 1 */
	int visible[ROWS];           /* from which step on */
	bool batch[TICKS + 1][ROWS]; /* by step: as the tick was cut */
	struct position list[ROWS * TICKS];
	int n;
};

static int below(struct rng *rng, int n)
{
	return (int)(rng_next(rng) % (uint64_t)n);
}

static int compare(struct position a, struct position b)
{
	return a.tick != b.tick ? a.tick - b.tick : a.id - b.id;
}

/* Row i comes after `from`: later in that tick as it was cut, or nowhere up to there. (What a
 * replay published a second time already stands before.) */
static bool belongs(const struct model *m, int i, int step, struct position from)
{
	if (m->batch[from.tick / 10][i] && i + 1 > from.id)
		return true;
	for (int k = 0; k < m->n; k++) {
		if (m->list[k].id == i + 1 && compare(m->list[k], from) <= 0)
			return false;
	}
	return m->visible[i] <= step;
}

static void publish(struct model *m, int step, struct position from, bool cut)
{
	bool *batch = m->batch[step];

	for (int i = 0; i < ROWS; i++)
		batch[i] = belongs(m, i, step, from);
	while (cut && m->n > 0 && compare(m->list[m->n - 1], from) > 0)
		m->n--;
	for (int i = 0; i < ROWS; i++) {
		if (batch[i])
			m->list[m->n++] = (struct position){step * 10, i + 1};
	}
}

/* Twenty transactions of one or two rows; a third of them commit some steps late. */
static void make_rows(struct model *m, struct rng *rng)
{
	for (int i = 0; i < ROWS; i++) {
		bool same = i > 0 && below(rng, 4) == 0;

		m->xid[i] = same ? m->xid[i - 1] : 100 + i;
		m->visible[i] = same ? m->visible[i - 1]
				     : 1 + i * TICKS / ROWS + (below(rng, 3) ? 0 : below(rng, 5));
		row(i + 1, m->xid[i]);
	}
}

/* At this step: transactions begun by now, less those still open. */
static void snapshot_text(const struct model *m, int step, char *buf, size_t size)
{
	int xmax = 100, xmin = 0, used = 0;
	char open[200] = "";

	for (int i = 0; i < ROWS; i++) {
		if (i * TICKS / ROWS < step)
			xmax = m->xid[i] + 1;
	}
	for (int i = 0; i < ROWS && m->xid[i] < xmax; i++) {
		if (m->visible[i] <= step || (i > 0 && m->xid[i] == m->xid[i - 1]))
			continue;
		xmin = xmin ? xmin : m->xid[i];
		used += snprintf(
		    open + used, sizeof(open) - (size_t)used, "%s%d", used ? "," : "", m->xid[i]);
	}
	snprintf(buf, size, "%d:%d:%s", xmin ? xmin : xmax, xmax, open);
}

static void extend(struct model *m, struct rng *rng, int step)
{
	struct position end = m->n ? m->list[m->n - 1] : (struct position){0, 0};
	int kind = m->n ? below(rng, 5) : 0; /* a repair, a replay, or three in five plain ticks */
	struct position from = m->n ? m->list[below(rng, m->n)] : end;
	char snapshot[300];

	snapshot_text(m, step, snapshot, sizeof(snapshot));
	if (kind == 1 || kind == 2)
		tick_from(step * 10, snapshot, from.tick, from.id, kind == 2);
	else
		tick(step * 10, snapshot);
	publish(m, step, kind == 1 || kind == 2 ? from : end, kind == 1);
}

/* Every position that the functions know, and nothing else. */
static void check_positions(const struct model *m)
{
	char want[ROWS * TICKS * 12] = "";
	int used = 0;

	for (int k = 0; k < m->n; k++)
		used += snprintf(want + used, sizeof(want) - (size_t)used, "%s%d-%d", k ? " " : "",
		    m->list[k].tick, m->list[k].id);
	CHECK_TEXT(world,
	    "SELECT coalesce(string_agg(t.tick || '-' || o.id, ' ' ORDER BY t.tick, o.id), '')"
	    " FROM intake.outbox o, intake.ticks_of(o.shard, o.id, o.xid) AS t",
	    want);
	CHECK_TEXT(world,
	    "SELECT coalesce(string_agg(t.tick || '-' || o.id, ' ' ORDER BY t.tick, o.id), '')"
	    " FROM intake.tick t, intake.outbox o WHERE intake.in_tick(t.shard, t.tick, o.id, "
	    "o.xid)",
	    want);
	CHECK_TEXT(world,
	    "SELECT coalesce(string_agg(t.tick || '-' || o.id, ' ' ORDER BY t.tick, o.id), '')"
	    " FROM intake.tick t CROSS JOIN LATERAL intake.tick_ranges(t.shard, t.tick) AS r"
	    " CROSS JOIN LATERAL (SELECT intake.tick_cap(t.shard, t.tick) OFFSET 0) AS c(cap)"
	    " JOIN intake.outbox o ON o.xid >= r.first AND o.xid < r.past AND o.id > r.after_id"
	    " AND o.id <= c.cap",
	    want);
}

static void check_model(void)
{
	struct rng rng;

	rng_seed(&rng, check_seed());
	for (int chain = 0; chain < CHAINS; chain++) {
		struct model m = {.n = 0};

		clean();
		make_rows(&m, &rng);
		for (int step = 1; step <= TICKS; step++)
			extend(&m, &rng, step);
		check_positions(&m);
	}
}

static const struct check checks[] = {
    {"a tick has what it sees and its predecessor does not", check_plain},
    {"a repair voids what is between", check_repair},
    {"repairs inside repairs", check_repair_inside_repair},
    {"a replay voids nothing", check_replay},
    {"P8: two ticks cannot follow one", check_chain_key},
    {"random chains, against a model", check_model},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(1);
	status = check_main("schema ticks", checks, argc, argv);
	world_close(world);
	return status;
}
