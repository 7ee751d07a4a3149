#include "tests/support/invariants.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

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
	    {"effects_entitlement", INVARIANTS_HANDLER},
	    {"effects_entitlement_xid", INVARIANTS_HANDLER},
	    {"effects_ledger", INVARIANTS_HANDLER},
	    {"effects_trace", INVARIANTS_LOST},
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
		     "AS o JOIN intake.tick AS t USING (shard) "
		     "WHERE (o.shard, o.id, o.source, o.message_id, t.tick) "
		     "= (e.shard, e.id, e.source, e.message_id, e.tick))");
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
	if (l != NULL)
		load_totals(l, &ret->load);
	ret->stream_entries = witness_entries_added(w);
	ret->effects = world_int(w, "SELECT coalesce(sum(effects), 0) FROM witness.counted()");
	ret->lost = world_int(w, "SELECT count(*) FROM witness.answered AS a "
				 "WHERE NOT EXISTS (SELECT FROM witness.counted() AS c "
				 "WHERE c.source = a.store AND c.message_id = a.notification_id "
				 "AND c.effects > 0)");
	ret->doubled = world_int(
	    w, "SELECT coalesce(sum(effects - 1), 0) FROM witness.counted() WHERE effects > 1");
	ret->out_of_order = world_int(w, "SELECT count(*) FROM witness.effects_sequence");
}

void ledger_lines(const struct ledger *ledger, struct ledger_line ret[LEDGER_LINES])
{
	const struct ledger_line lines[] = {
	    {"notifications", ledger->load.notifications, "", false},
	    {"sent", ledger->load.sends, "requests, duplicates and retries included", false},
	    {"accepted", ledger->load.accepted, "answered: kept now", false},
	    {"duplicates", ledger->load.duplicates, "answered: known already", false},
	    {"unanswered", ledger->load.unanswered, "no answer or 503; sent again", false},
	    {"refused", ledger->load.refused, "answered with neither 200 nor 503", true},
	    {"stream entries", ledger->stream_entries, "", false},
	    {"effects", ledger->effects, "", false},
	    {"lost", ledger->lost, "answered with 200, and without an effect", true},
	    {"doubled", ledger->doubled, "effects beyond one a notification", true},
	    {"out of order", ledger->out_of_order,
		"effects before an earlier one of their purchase", true},
	};

	memcpy(ret, lines, sizeof(lines));
}

void ledger_print(FILE *out, const struct ledger *ledger)
{
	struct ledger_line lines[LEDGER_LINES];

	ledger_lines(ledger, lines);
	for (size_t i = 0; i < LEDGER_LINES; i++)
		fprintf(out, "  %-14s %8" PRId64 "%s%s\n", lines[i].name, lines[i].value,
		    *lines[i].meaning ? "   " : "", lines[i].meaning);
}
