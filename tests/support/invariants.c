#include "tests/support/invariants.h"

#include "tests/support/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLES 5

bool invariants_await(struct world *w, int64_t timeout_ms)
{
	return world_await_int(w, 0, timeout_ms, "SELECT count(*) FROM witness.effects_lost");
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether the caller asked about this view. */
static bool is_wanted(const char *view, unsigned which)
{
	static const struct {
		const char *view;
		unsigned excuse;
	} excused[] = {
	    {"stream_missing", INVARIANTS_TRIMMED},
	    {"stream_repeated", INVARIANTS_REPEATS},
	};

	for (size_t i = 0; i < sizeof(excused) / sizeof(excused[0]); i++)
		if (strcmp(view, excused[i].view) == 0 && (which & excused[i].excuse))
			return false;
	return (starts_with(view, "intake_") && (which & INVARIANTS_INTAKE)) ||
	       (starts_with(view, "stream_") && (which & INVARIANTS_STREAM)) ||
	       (starts_with(view, "effects_") && (which & INVARIANTS_EFFECTS));
}

/* True if the view is empty. */
static bool holds(PGconn *conn, const char *view, const char *promise)
{
	char *sql = text_format("SELECT what FROM witness.%s", view);
	PGresult *res = PQexec(conn, sql);
	int n = PQntuples(res);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		die("witness.%s: %s", view, PQerrorMessage(conn));
	if (n > 0)
		fprintf(stderr, "broken: %s (%s), %d times:\n", promise, view, n);
	for (int i = 0; i < n && i < EXAMPLES; i++)
		fprintf(stderr, "    %s\n", PQgetvalue(res, i, 0));
	PQclear(res);
	free(sql);
	return n == 0;
}

static void leave_out_foreign(struct world *w)
{
	world_sql(w, "DELETE FROM witness.entry AS e WHERE NOT EXISTS (SELECT FROM intake.outbox "
		     "AS o WHERE (o.shard, o.id, o.source, o.message_id) "
		     "= (e.shard, e.id, e.source, e.message_id))");
}

int invariants_broken(struct world *w, unsigned which)
{
	PGconn *conn = world_pg(w);
	PGresult *views;
	int broken = 0;

	if (which & INVARIANTS_STREAM)
		witness_streams(w);
	if (which & INVARIANTS_FOREIGN)
		leave_out_foreign(w);
	views = PQexec(conn, "SELECT relname, obj_description(oid) FROM pg_class "
			     "WHERE relnamespace = 'witness'::regnamespace AND relkind = 'v' "
			     "ORDER BY oid");
	if (PQntuples(views) == 0)
		die("no invariants: %s", PQerrorMessage(conn));
	for (int i = 0; i < PQntuples(views); i++) {
		const char *view = PQgetvalue(views, i, 0);

		if (is_wanted(view, which) && !holds(conn, view, PQgetvalue(views, i, 1)))
			broken++;
	}
	PQclear(views);
	PQfinish(conn);
	return broken;
}

void ledger_read(struct world *w, const struct load *l, struct ledger *ret)
{
	load_totals(l, &ret->load);
	ret->stream_entries = witness_entries_added(w);
	ret->effects = world_int(w, "SELECT count(*) FROM witness.effect");
	ret->lost = world_int(w, "SELECT count(*) FROM witness.answered AS a "
				 "WHERE NOT EXISTS (SELECT FROM witness.effect AS e "
				 "WHERE e.source = a.store AND e.message_id = a.notification_id)");
	ret->doubled = world_int(
	    w, "SELECT count(*) - count(DISTINCT (source, message_id)) FROM witness.effect");
}

void ledger_print(FILE *out, const struct ledger *ledger)
{
	const struct {
		const char *name;
		int64_t value;
		const char *meaning;
	} lines[] = {
	    {"notifications", ledger->load.notifications, ""},
	    {"sent", ledger->load.sends, "requests, duplicates and retries included"},
	    {"accepted", ledger->load.accepted, "answered: kept now"},
	    {"duplicates", ledger->load.duplicates, "answered: known already"},
	    {"unanswered", ledger->load.unanswered, "no answer or 503; sent again"},
	    {"stream entries", ledger->stream_entries, ""},
	    {"effects", ledger->effects, ""},
	    {"lost", ledger->lost, "answered, and without an effect"},
	    {"doubled", ledger->doubled, "effects beyond one a notification"},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		fprintf(out, "  %-14s %8" PRId64 "%s%s\n", lines[i].name, lines[i].value,
		    *lines[i].meaning ? "   " : "", lines[i].meaning);
}
