/*
 * rebase.c - umavez rebase: adopt the PostgreSQL cluster that replaces the one the outbox was
 * written in.
 */
#include "cli/command.h"
#include "cli/print.h"
#include "cli/sources.h"
#include "cli_text.h"
#include "common/memory.h"
#include "common/pg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct rebase {
	char *database_url;
	bool yes, json;
};

static const struct option options[] = {
    SOURCES_INTAKE_OPTION(offsetof(struct rebase, database_url)),
    {"yes", OPT_BOOL, offsetof(struct rebase, yes), "off",
	"Do it; else only say what would be done", 0, 0, 0, NULL, NULL},
    COMMAND_JSON_OPTION(offsetof(struct rebase, json)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "[OPTION]...\n\n"
    "After a dump was restored into another PostgreSQL cluster, or pg_upgrade made one, services\n"
    "refuse to work: rows and ticks carry transaction ids, which mean something only inside one\n"
    "cluster.  This adopts the cluster.  If it already counts above everything stored "
    "(pg_upgrade),\n"
    "only its identity is written; else an offset, which is added to every transaction id from "
    "then\n"
    "on.  Stop producers, relays and other writers first.  Run it as the role that owns the "
    "schema.\n\n"
    "Be sure that the old cluster takes no more notifications: they would not come along.";

/* What was found and done, for --json and for people. */
struct findings {
	bool needed; /* false: it is the same cluster as ever */
	bool rebased;
	char *expected, *actual; /* which cluster */
	char *highest, *lowest;  /* transaction ids: stored, and to come */
	int64_t offset_was, offset_is;
};

static void findings_done(struct findings *f)
{
	free(f->expected);
	free(f->actual);
	free(f->highest);
	free(f->lowest);
}

static int look(PGconn *conn, struct findings *f, struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(conn, cli_sql_rebase_look_sql, 0, NULL, &res, err) < 0)
		goto done;
	if (PQntuples(res) != 1) {
		err_set(err, ERR_MISMATCH, "intake.setting is empty: run umavez migrate");
		goto done;
	}
	f->needed = !pg_bool(res, 0, "same");
	f->expected = mem_strdup(pg_text(res, 0, "expected"));
	f->actual = mem_strdup(pg_text(res, 0, "actual"));
	if (f->needed && pg_text(res, 0, "busy")) {
		err_set(err, ERR_FATAL,
		    "the outbox was written in cluster %s, this is %s: stop these first: %s",
		    f->expected, f->actual, pg_text(res, 0, "busy"));
		goto done;
	}
	rc = 0;
done:
	PQclear(res);
	return rc;
}

/* Without --yes it is done all the same, and rolled back: so what is said is what would happen. */
static int rebase(PGconn *conn, bool yes, struct findings *f, struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	/* It reads whole tables. */
	if (pg_exec(conn, "SET statement_timeout = 0", err) < 0 ||
	    pg_exec(conn, "BEGIN", err) < 0 ||
	    pg_run(conn, "SELECT * FROM intake.rebase()", 0, NULL, &res, err) < 0)
		goto done;
	f->rebased = yes;
	f->highest = mem_strdup(pg_text(res, 0, "highest"));
	f->lowest = mem_strdup(pg_text(res, 0, "lowest"));
	f->offset_was = pg_int(res, 0, "offset_was");
	f->offset_is = pg_int(res, 0, "offset_is");
	rc = yes ? pg_commit(conn, err) : pg_exec(conn, "ROLLBACK", err);
done:
	PQclear(res);
	return rc;
}

static void tell_json(const struct findings *f)
{
	json_t *json = json_pack("{s:s, s:s, s:b, s:b}", "expected_cluster", f->expected,
	    "actual_cluster", f->actual, "needed", (int)f->needed, "done", (int)f->rebased);

	if (f->needed)
		json_object_update_new(
		    json, json_pack("{s:s, s:s, s:I, s:I}", "highest_xid_stored", f->highest,
			      "next_xid", f->lowest, "xid_offset_was", (json_int_t)f->offset_was,
			      "xid_offset", (json_int_t)f->offset_is));
	print_json(stdout, json);
}

static void tell(const struct findings *f)
{
	const char *is = f->rebased ? "is" : "would be";

	if (!f->needed) {
		printf("this is cluster %s, which the outbox was written in: nothing to do\n",
		    f->actual);
		return;
	}
	printf("the outbox was written in cluster %s, this is %s\n", f->expected, f->actual);
	printf("the highest transaction id stored is %s; this cluster goes on at %s\n", f->highest,
	    f->lowest);
	if (f->offset_is == f->offset_was)
		printf("the cluster %s adopted as it is (xid_offset stays %" PRId64 ")\n", is,
		    f->offset_was);
	else
		printf("the cluster %s adopted with an xid_offset of %" PRId64
		       " instead of %" PRId64 "\n",
		    is, f->offset_is, f->offset_was);
}

static int run(void *config, struct err *err)
{
	const struct rebase *r = config;
	struct findings f = {0};
	PGconn *conn = NULL;
	int rc = -1;

	if (sources_open_schema(r->database_url, "rebase", "intake", &conn, err) < 0 ||
	    look(conn, &f, err) < 0)
		goto done;
	if (f.needed && rebase(conn, r->yes, &f, err) < 0)
		goto done;
	if (r->json)
		tell_json(&f);
	else
		tell(&f);
	rc = f.needed && !r->yes ? command_not_done(err) : 0;
done:
	findings_done(&f);
	PQfinish(conn);
	return rc;
}

int command_rebase(int argc, char **argv)
{
	static const struct command_body body = {usage, options, sizeof(struct rebase), .run = run};

	return command_run(&body, argc, argv);
}
