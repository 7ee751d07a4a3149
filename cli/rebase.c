/*
 * rebase.c - umavez rebase: adopt the PostgreSQL cluster that replaces the one the outbox was
 * written in.
 */
#include "cli/command.h"
#include "cli/sources.h"
#include "cli_text.h"
#include "common/pg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct rebase {
	char *database_url;
	bool yes;
};

static const struct option options[] = {
    SOURCES_INTAKE_OPTION(offsetof(struct rebase, database_url)),
    {"yes", OPT_BOOL, offsetof(struct rebase, yes), "off",
	"Do it; else only say what would be done", 0, 0, 0, NULL, NULL},
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

/* *ret_needed false: it is the same cluster as ever. */
static int look(PGconn *conn, bool *ret_needed, struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(conn, cli_sql_rebase_look_sql, 0, NULL, &res, err) < 0)
		goto done;
	if (PQntuples(res) != 1) {
		err_set(err, ERR_MISMATCH, "intake.setting is empty: run umavez migrate");
		goto done;
	}
	*ret_needed = !pg_bool(res, 0, "same");
	if (!*ret_needed) {
		printf("this is cluster %s, which the outbox was written in: nothing to do\n",
		    pg_text(res, 0, "actual"));
		rc = 0;
		goto done;
	}
	printf("the outbox was written in cluster %s, this is %s\n", pg_text(res, 0, "expected"),
	    pg_text(res, 0, "actual"));
	if (pg_text(res, 0, "busy")) {
		err_set(err, ERR_FATAL, "stop these first: %s", pg_text(res, 0, "busy"));
		goto done;
	}
	rc = 0;
done:
	PQclear(res);
	return rc;
}

static void say(const PGresult *res, bool yes)
{
	int64_t was = pg_int(res, 0, "offset_was"), is = pg_int(res, 0, "offset_is");

	printf("the highest transaction id stored is %s; this cluster goes on at %s\n",
	    pg_text(res, 0, "highest"), pg_text(res, 0, "lowest"));
	if (is == was)
		printf("the cluster %s adopted as it is (xid_offset stays %" PRId64 ")\n",
		    yes ? "is" : "would be", was);
	else
		printf("the cluster %s adopted with an xid_offset of %" PRId64
		       " instead of %" PRId64 "\n",
		    yes ? "is" : "would be", is, was);
}

/* Without --yes it is done all the same, and rolled back: so what is said is what would happen. */
static int rebase(PGconn *conn, bool yes, struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	/* It reads whole tables. */
	if (pg_exec(conn, "SET statement_timeout = 0", err) < 0 ||
	    pg_exec(conn, "BEGIN", err) < 0 ||
	    pg_run(conn, "SELECT * FROM intake.rebase()", 0, NULL, &res, err) < 0)
		goto done;
	say(res, yes);
	if (!yes) {
		err_set(err, ERR_USAGE, "nothing was done: give --yes to do it");
		goto done;
	}
	rc = pg_commit(conn, err);
done:
	PQclear(res);
	return rc;
}

static int run(const struct rebase *r, struct err *err)
{
	PGconn *conn = NULL;
	bool needed;
	int rc = -1;

	if (sources_open_schema(r->database_url, "rebase", "intake", &conn, err) < 0 ||
	    look(conn, &needed, err) < 0)
		goto done;
	rc = needed ? rebase(conn, r->yes, err) : 0;
done:
	PQfinish(conn);
	return rc;
}

int command_rebase(int argc, char **argv)
{
	struct rebase r = {0};
	struct err err = ERR_INIT;
	int status;

	if (!command_start(usage, options, &r, argc, argv, NULL, &status))
		return status;
	status = run(&r, &err) < 0 ? command_fail("rebase", &err) : EXIT_SUCCESS;
	option_done(options, &r);
	return status;
}
