#include "cli/backlog.h"
#include "cli/doctor.h"
#include "cli_text.h"
#include "common/memory.h"
#include "common/pg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * A group that has not moved for so long, with a message behind it as old, has a reader that is in
 * trouble.  Well above the relay's trim interval, at which what is acknowledged gets stored.
 */
#define GROUP_STUCK_MS INT64_C(300000)

/* Well above what a tick of millions of rows takes. */
#define RELAY_STUCK_MS INT64_C(60000)

/* Shards that nobody holds, and what waits in them. */
struct idle {
	char *shards; /* "0, 3"; NULL: there are none */
	size_t n;
	int64_t waiting;
};

static void add_shard(struct idle *idle, unsigned shard, int64_t waiting)
{
	char *longer =
	    mem_printf("%s%s%u", idle->n > 0 ? idle->shards : "", idle->n > 0 ? ", " : "", shard);

	free(idle->shards);
	idle->shards = longer;
	idle->n++;
	idle->waiting += waiting;
}

static enum level level_of(const struct idle *idle)
{
	if (idle->n == 0)
		return LEVEL_OK;
	return idle->waiting > 0 ? LEVEL_FAIL : LEVEL_WARN;
}

bool doctor_relay_stuck(
    struct doctor *d, unsigned shard, int64_t rows, int64_t oldest_ms, const char *lack)
{
	const char *relay = pg_text(d->shards, (int)shard, "relay");
	int64_t waited_ms = pg_int(d->shards, (int)shard, "now_ms") - oldest_ms;

	if (!relay || rows == 0 || waited_ms < RELAY_STUCK_MS)
		return false;
	doctor_note(d, LEVEL_FAIL, "relays",
	    "look at that relay's log and at its /readyz, which say what stops it",
	    "the relay %s holds shard %u, where %" PRId64 " %s to be %s, the oldest for %" PRId64
	    " s",
	    relay, shard, rows, print_plural(rows, "message waits", "messages wait"), lack,
	    waited_ms / 1000);
	return true;
}

static int find_waiting(
    struct doctor *d, PGconn *intake, struct idle *idle, bool *ret_stuck, struct err *err)
{
	*ret_stuck = false;
	for (unsigned shard = 0; shard < (unsigned)PQntuples(d->shards); shard++) {
		int64_t rows, oldest_ms;

		if (backlog_oldest_unticked(intake, shard, &rows, &oldest_ms, err) < 0)
			return -1;
		if (!pg_text(d->shards, (int)shard, "relay"))
			add_shard(idle, shard, rows);
		else if (doctor_relay_stuck(d, shard, rows, oldest_ms, "ticked"))
			*ret_stuck = true;
	}
	return 0;
}

static void check_relays(struct doctor *d, PGconn *intake)
{
	static const char advice[] =
	    "start umavez-relay; if one runs, its log says why it holds no shard";
	struct idle idle = {.n = 0};
	struct err err = ERR_INIT;
	bool stuck;

	if (pg_run(intake, cli_sql_shards_sql, 0, NULL, &d->shards, &err) < 0 ||
	    find_waiting(d, intake, &idle, &stuck, &err) < 0)
		doctor_note_error(d, "relays", &err);
	else if (idle.n == 0 && !stuck)
		doctor_note(d, LEVEL_OK, "relays", "", "a relay holds every shard");
	else if (idle.n > 0)
		doctor_note(d, level_of(&idle), "relays", advice,
		    "no relay holds %s %s, where %" PRId64 " %s for it",
		    print_plural((int64_t)idle.n, "shard", "shards"), idle.shards, idle.waiting,
		    print_plural(idle.waiting, "message waits", "messages wait"));
	free(idle.shards);
}

static bool is_consumer(const struct doctor *d, int row, const char *name)
{
	return strcmp(pg_text(d->consumers, row, "consumer"), name) == 0;
}

/* -1: the group is no consumer of ours. */
static int consumer_row(const struct doctor *d, const char *group, unsigned shard)
{
	for (int row = 0; row < PQntuples(d->consumers); row++) {
		if (is_consumer(d, row, group) && pg_uint(d->consumers, row, "shard") == shard)
			return row;
	}
	return -1;
}

/* NULL: nobody, or it is no consumer of ours. */
static const char *holder_of(const struct doctor *d, const char *group, unsigned shard)
{
	int row = consumer_row(d, group, shard);

	return row < 0 ? NULL : pg_text(d->consumers, row, "holder");
}

static char *start_advice(const char *consumer)
{
	return mem_printf(
	    "start umavez-consumer --consumer %s; if one runs, its log says why it "
	    "holds no shard; or umavez consumer forget %s, if it will never come back",
	    consumer, consumer);
}

char *doctor_reader_advice(const struct doctor *d, const char *group, unsigned shard)
{
	const char *holder = holder_of(d, group, shard);

	if (holder)
		return mem_printf("look at the log of %s, which holds the shard, and at its "
				  "/readyz: they say what stops it",
		    holder);
	if (consumer_row(d, group, shard) >= 0)
		return start_advice(group);
	return mem_printf("start what reads it; or umavez group drop %s --destroy, if nobody ever "
			  "will",
	    group);
}

/* Of a consumer of ours whose shard has no holder: nobody reads on. */
static bool is_abandoned(const struct doctor *d, const char *group, unsigned shard)
{
	return consumer_row(d, group, shard) >= 0 && !holder_of(d, group, shard);
}

/* The rows of one consumer from *row on; *row is left behind them. */
static int find_unread(
    const struct doctor *d, PGconn *intake, int *row, struct idle *idle, struct err *err)
{
	const PGresult *res = d->consumers;
	const char *name = pg_text(res, *row, "consumer");

	for (; *row < PQntuples(res) && is_consumer(d, *row, name); ++*row) {
		unsigned shard = (unsigned)pg_uint(res, *row, "shard");
		struct stream_id cursor = STREAM_ID_ZERO;
		int64_t rows;

		if (pg_text(res, *row, "holder"))
			continue;
		stream_id_parse(pg_text(res, *row, "stream_id"), &cursor);
		if (backlog_after(intake, shard, cursor, &rows, err) < 0)
			return -1;
		add_shard(idle, shard, rows);
	}
	return 0;
}

static void tell_consumer(struct doctor *d, const char *name, const struct idle *idle)
{
	char *advice = start_advice(name);

	if (idle->n == 0)
		doctor_note(d, LEVEL_OK, "consumers", "", "consumer %s: every shard is held", name);
	else
		doctor_note(d, level_of(idle), "consumers", advice,
		    "consumer %s: nobody holds %s %s, where %" PRId64 " %s for it", name,
		    print_plural((int64_t)idle->n, "shard", "shards"), idle->shards, idle->waiting,
		    print_plural(idle->waiting, "message waits", "messages wait"));
	free(advice);
}

static void check_consumers(struct doctor *d, PGconn *intake, int n_groups)
{
	struct err err = ERR_INIT;

	if (d->consumers && PQntuples(d->consumers) == 0)
		doctor_note(d, n_groups > 0 ? LEVEL_OK : LEVEL_WARN, "consumers",
		    "start umavez-consumer", "no consumer has begun yet");
	for (int row = 0; row < PQntuples(d->consumers);) {
		const char *name = pg_text(d->consumers, row, "consumer");
		struct idle idle = {.n = 0};
		int rc = find_unread(d, intake, &row, &idle, &err);

		if (rc == 0)
			tell_consumer(d, name, &idle);
		free(idle.shards);
		if (rc < 0) {
			doctor_note_error(d, "consumers", &err);
			return;
		}
	}
}

static void tell_group(
    struct doctor *d, const PGresult *res, int row, int64_t rows, bool is_abandoned_group)
{
	const char *name = pg_text(res, row, "name");
	struct stream_id at = {pg_uint(res, row, "tick"), pg_uint(res, row, "id")};
	unsigned shard = (unsigned)pg_uint(res, row, "shard");
	char *advice = doctor_reader_advice(d, name, shard), id[STREAM_ID_SIZE];

	doctor_note(d, LEVEL_WARN, "groups", advice,
	    "group %s in shard %u has not acknowledged %" PRId64
	    " %s after %s%s: nothing from there on can be trimmed",
	    name, shard, rows, print_plural(rows, "message", "messages"), stream_id_format(at, id),
	    is_abandoned_group ? ", and nobody reads" : " for over 5 min");
	free(advice);
}

static void check_group(struct doctor *d, PGconn *intake, const PGresult *res, int row)
{
	struct stream_id at = {pg_uint(res, row, "tick"), pg_uint(res, row, "id")};
	unsigned shard = (unsigned)pg_uint(res, row, "shard");
	bool abandoned = is_abandoned(d, pg_text(res, row, "name"), shard);
	struct err err = ERR_INIT;
	int64_t rows, since_ms;

	if (backlog_oldest_after(intake, shard, at, &rows, &since_ms, &err) < 0) {
		doctor_note_error(d, "groups", &err);
		return;
	}
	if (since_ms < pg_int(res, row, "at_ms"))
		since_ms = pg_int(res, row, "at_ms");
	if (rows > 0 && (abandoned || pg_int(res, row, "now_ms") - since_ms >= GROUP_STUCK_MS))
		tell_group(d, res, row, rows, abandoned);
}

static void check_groups(struct doctor *d, PGconn *intake, const PGresult *groups)
{
	size_t before = d->n;

	for (int row = 0; row < PQntuples(groups); row++)
		check_group(d, intake, groups, row);
	if (d->n == before)
		doctor_note(d, LEVEL_OK, "groups", "",
		    "none of %d registered groups lags (each counts once a shard; relays register "
		    "new ones when they trim)",
		    PQntuples(groups));
}

void doctor_work(struct doctor *d, PGconn *intake, PGconn *effects)
{
	struct err err = ERR_INIT;
	PGresult *groups = NULL;

	doctor_turn_to(d, "at work");
	check_relays(d, intake);
	if (effects &&
	    pg_run(effects, cli_sql_doctor_consumers_sql, 0, NULL, &d->consumers, &err) < 0)
		doctor_note_error(d, "consumers", &err);
	if (pg_run(intake, cli_sql_doctor_groups_sql, 0, NULL, &groups, &err) < 0) {
		doctor_note_error(d, "groups", &err);
		return;
	}
	check_consumers(d, intake, PQntuples(groups));
	check_groups(d, intake, groups);
	PQclear(groups);
}
