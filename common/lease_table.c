#include "common/lease_table.h"

#include "common/memory.h"
#include "common/pg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * In every statement $1 is the consumer (NULL for intake), $2 the holder and $3 the lease in ms.
 * S stands for the schema, K for the consumer's column, V for its value, P for the predicate that
 * selects our rows.
 */
struct lease_table {
	const struct lease_options *options;
	char *prepare, *renew, *attend, *claim, *release, *leave;
	char lease_ms[24], shards[16];
};

#define S "%1$s"
#define K "%2$s"
#define V "%3$s"
#define P "%4$s"
#define EXPIRY "clock_timestamp() + $3::float8 * interval '1 millisecond'"

static const char prepare_sql[] =
    "INSERT INTO " S ".shard_lease (" K "shard, term, expires_at)"
    " SELECT " V "s, 0, clock_timestamp() FROM generate_series(0, $4::int - 1) s"
    " WHERE $2::text IS NOT NULL AND $3::float8 IS NOT NULL"
    " ON CONFLICT DO NOTHING";

static const char renew_sql[] =
    "UPDATE " S ".shard_lease SET expires_at = " EXPIRY " WHERE " P " AND holder = $2::text"
    " AND (shard, term) IN (SELECT * FROM unnest($4::smallint[], $5::bigint[]))"
    " RETURNING shard";

/* Somebody else's expired row is cleared away a few at a time, and never waited for. */
static const char attend_sql[] =
    "WITH me AS (INSERT INTO " S ".instance (" K "holder, expires_at)"
    "  SELECT " V "$2::text, " EXPIRY "  ON CONFLICT (" K
    "holder) DO UPDATE SET expires_at = excluded.expires_at),"
    " gone AS (DELETE FROM " S ".instance WHERE " P " AND holder IN"
    "  (SELECT holder FROM " S ".instance WHERE " P " AND holder <> $2::text"
    "   AND expires_at < clock_timestamp() LIMIT 100 FOR UPDATE SKIP LOCKED))"
    " SELECT 1 + count(*) AS instances, ceil(1000 * extract(epoch FROM least(min(expires_at),"
    "  (SELECT min(expires_at) FROM " S ".shard_lease WHERE " P
    "   AND holder <> $2::text AND expires_at >= clock_timestamp())"
    "  ) - clock_timestamp()))::bigint AS expiry_ms"
    " FROM " S ".instance WHERE " P " AND holder <> $2::text AND expires_at >= clock_timestamp()";

/* A row of our name that we do not know of is left from a claim whose answer was lost. */
static const char claim_sql[] =
    "WITH free AS (SELECT shard FROM " S ".shard_lease WHERE " P
    "  AND shard < $4::int AND shard <> ALL ($5::smallint[])"
    "  AND (holder IS NULL OR holder = $2::text OR expires_at < clock_timestamp())"
    "  ORDER BY shard LIMIT $6::bigint FOR UPDATE SKIP LOCKED)"
    " UPDATE " S ".shard_lease l SET holder = $2::text, term = l.term + 1,"
    " expires_at = " EXPIRY " FROM free WHERE " P " AND l.shard = free.shard"
    " RETURNING l.shard, l.term";

static const char release_sql[] =
    "UPDATE " S ".shard_lease SET holder = NULL, expires_at = clock_timestamp()"
    " WHERE " P " AND shard = $4::int AND term = $5::bigint AND holder = $2::text"
    " AND $3::float8 IS NOT NULL";

static const char leave_sql[] =
    "DELETE FROM " S ".instance WHERE " P " AND holder = $2::text AND $3::float8 IS NOT NULL";

#undef S
#undef K
#undef V
#undef P

static char *build(const char *sql, const struct lease_options *options)
{
	bool shared = options->consumer != NULL;
	char *text = NULL;

	if (asprintf(&text, sql, options->schema, shared ? "consumer, " : "",
		shared ? "$1::text, " : "",
		shared ? "consumer = $1::text" : "$1::text IS NULL") < 0)
		abort();
	return text;
}

struct lease_table *lease_table_new(const struct lease_options *options)
{
	struct lease_table *t = mem_zalloc(1, sizeof(*t));

	t->options = options;
	t->prepare = build(prepare_sql, options);
	t->renew = build(renew_sql, options);
	t->attend = build(attend_sql, options);
	t->claim = build(claim_sql, options);
	t->release = build(release_sql, options);
	t->leave = build(leave_sql, options);
	snprintf(t->lease_ms, sizeof(t->lease_ms), "%" PRId64, options->lease_ms);
	snprintf(t->shards, sizeof(t->shards), "%u", options->shards);
	return t;
}

void lease_table_free(struct lease_table *t)
{
	if (!t)
		return;
	free(t->prepare);
	free(t->renew);
	free(t->attend);
	free(t->claim);
	free(t->release);
	free(t->leave);
	free(t);
}

/* n parameters follow the three that every statement has. */
static int run(const struct lease_table *t, PGconn *conn, const char *sql, int n,
    const char *const *more, PGresult **ret_res, struct err *err)
{
	const char *params[6] = {t->options->consumer, t->options->holder, t->lease_ms};

	for (int i = 0; i < n; i++)
		params[3 + i] = more[i];
	return pg_run(conn, sql, 3 + n, params, ret_res, err);
}

/* An array of one number for each lease in a state of the mask, as PostgreSQL reads it. */
static char *array(
    const struct lease_table *t, const struct lease *leases, unsigned mask, bool terms)
{
	char *text = mem_strdup("{");

	for (unsigned i = 0; i < t->options->shards; i++) {
		if (!(mask & 1u << leases[i].state))
			continue;
		int64_t n = terms ? leases[i].term : (int64_t)i;
		char *longer = mem_printf("%s%s%" PRId64, text, text[1] ? "," : "", n);
		free(text);
		text = longer;
	}
	char *closed = mem_printf("%s}", text);
	free(text);
	return closed;
}

int lease_table_renew(const struct lease_table *t, PGconn *conn, const struct lease *leases,
    bool *ret_renewed, struct err *err)
{
	unsigned mask = 1u << LEASE_HELD | 1u << LEASE_RESTING;
	char *shards = array(t, leases, mask, false), *terms = array(t, leases, mask, true);
	const char *more[] = {shards, terms};
	PGresult *res = NULL;
	int rc = -1;

	if (run(t, conn, t->renew, 2, more, &res, err) < 0)
		goto done;
	memset(ret_renewed, 0, t->options->shards * sizeof(*ret_renewed));
	for (int i = 0; i < PQntuples(res); i++)
		ret_renewed[pg_int(res, i, "shard")] = true;
	rc = 0;
done:
	PQclear(res);
	free(terms);
	free(shards);
	return rc;
}

int lease_table_attend(const struct lease_table *t, PGconn *conn, unsigned *ret_instances,
    int64_t *ret_expiry_ms, struct err *err)
{
	PGresult *res = NULL;

	if (run(t, conn, t->attend, 0, NULL, &res, err) < 0)
		return -1;
	*ret_instances = (unsigned)pg_int(res, 0, "instances");
	*ret_expiry_ms = pg_text(res, 0, "expiry_ms") ? pg_int(res, 0, "expiry_ms") : INT64_MAX;
	PQclear(res);
	return 0;
}

int lease_table_prepare(const struct lease_table *t, PGconn *conn, struct err *err)
{
	const char *more[] = {t->shards};

	return t->options->consumer ? run(t, conn, t->prepare, 1, more, NULL, err) : 0;
}

int lease_table_claim(const struct lease_table *t, PGconn *conn, const struct lease *leases,
    unsigned limit, int64_t *ret_terms, struct err *err)
{
	char *ours = array(t, leases, ~(1u << LEASE_FREE), false);
	char most[16];
	const char *more[] = {t->shards, ours, most};
	PGresult *res = NULL;
	int rc = -1;

	snprintf(most, sizeof(most), "%u", limit);
	if (run(t, conn, t->claim, 3, more, &res, err) < 0)
		goto done;
	memset(ret_terms, 0, t->options->shards * sizeof(*ret_terms));
	for (int i = 0; i < PQntuples(res); i++)
		ret_terms[pg_int(res, i, "shard")] = pg_int(res, i, "term");
	rc = 0;
done:
	PQclear(res);
	free(ours);
	return rc;
}

int lease_table_release(
    const struct lease_table *t, PGconn *conn, const struct lease *lease, struct err *err)
{
	char shard[16], term[24];
	const char *more[] = {shard, term};

	snprintf(shard, sizeof(shard), "%u", lease->shard);
	snprintf(term, sizeof(term), "%" PRId64, lease->term);
	return run(t, conn, t->release, 2, more, NULL, err);
}

int lease_table_leave(const struct lease_table *t, PGconn *conn, struct err *err)
{
	return run(t, conn, t->leave, 0, NULL, NULL, err);
}
