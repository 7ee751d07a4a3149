/*
 * republish.c - umavez republish: tell messages again, under the ids that they had.
 */
#include "cli/command.h"
#include "cli/print.h"
#include "cli/sources.h"
#include "cli_text.h"
#include "common/pg.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* So many rows a transaction: their purchases are locked until it ends. */
enum { PAGE_ROWS = 500 };

struct republish {
	char *database_url;
	char *message, *source, *purchase, *since, *until;
	bool dry_run, json;
};

struct tally {
	int64_t found, written;
};

static const struct option options[] = {
    SOURCES_INTAKE_OPTION(offsetof(struct republish, database_url)),
    {"message", OPT_STRING, offsetof(struct republish, message), NULL,
	"The message with this id (a notification's, or an emitted event's)", 0, 0, 0, NULL, NULL},
    {"source", OPT_STRING, offsetof(struct republish, source), NULL,
	"With --message: whose id it is (app_store, stripe, ...)", 0, 0, 0, NULL, NULL},
    {"purchase", OPT_STRING, offsetof(struct republish, purchase), NULL,
	"Every message about this purchase: STORE/ID", 0, 0, 0, NULL, NULL},
    {"since", OPT_STRING, offsetof(struct republish, since), NULL,
	"Every message committed since then: 2026-01-31T12:00:00Z", 0, 0, 0, NULL, NULL},
    {"until", OPT_STRING, offsetof(struct republish, until), NULL, "... and before then", 0, 0, 0,
	NULL, NULL},
    {"dry-run", OPT_BOOL, offsetof(struct republish, dry_run), "off", "Only say how many", 0, 0, 0,
	NULL, NULL},
    COMMAND_JSON_OPTION(offsetof(struct republish, json)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "--message ID [--source S] | --purchase STORE/ID | --since T --until T  [OPTION]...\n\n"
    "Puts messages into the outbox once more, as long as it retains them, under the same message\n"
    "ids: whoever has applied one takes no notice, whoever has lost it gets it.  Messages that no\n"
    "tick has seen yet are on their way anyhow and are left alone.  Works in transactions of 500\n"
    "rows; after an interruption, simply run it again.  The role umavez_operator may do this.";

static int check_words(const struct republish *r, struct err *err)
{
	bool range = r->since && r->until;

	if ((r->since != NULL) != (r->until != NULL))
		return err_set(err, ERR_USAGE, "--since and --until go together");
	if ((r->message != NULL) + (r->purchase != NULL) + range != 1)
		return err_set(
		    err, ERR_USAGE, "give one of --message, --purchase, or --since with --until");
	if (r->source && !r->message)
		return err_set(err, ERR_USAGE, "--source goes with --message");
	if (r->purchase && !strchr(r->purchase, '/'))
		return err_set(err, ERR_USAGE, "--purchase needs its store: STORE/ID");
	return 0;
}

static int check_times(PGconn *conn, const struct republish *r, struct err *err)
{
	const char *params[] = {r->since, r->until};
	struct err cause = ERR_INIT;

	if (pg_run(conn, "SELECT $1::timestamptz, $2::timestamptz", 2, params, NULL, &cause) == 0)
		return 0;
	if (cause.kind != ERR_REJECT) {
		*err = cause;
		return -1;
	}
	return err_set(err, ERR_USAGE, "--since, --until: %s", cause.message);
}

/* ids: an array, as PostgreSQL writes it. */
static int write_rows(PGconn *conn, const char *ids, struct tally *tally, struct err *err)
{
	const char *params[] = {ids};
	PGresult *res = NULL;

	if (pg_run(conn, "SELECT intake.republish($1::bigint[]) AS written", 1, params, &res, err) <
	    0)
		return -1;
	tally->written += pg_int(res, 0, "written");
	PQclear(res);
	return 0;
}

static int republish_message(
    PGconn *conn, const struct republish *r, struct tally *tally, struct err *err)
{
	const char *params[] = {r->message, r->source};
	char ids[PG_NUMBER_SIZE + 2];
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(conn, cli_sql_republish_message_sql, 2, params, &res, err) < 0)
		goto done;
	if (PQntuples(res) > 1) {
		err_set(err, ERR_USAGE,
		    "%d sources have a message of that id: say which one with --source (%s, %s)",
		    PQntuples(res), pg_text(res, 0, "source"), pg_text(res, 1, "source"));
		goto done;
	}
	tally->found = PQntuples(res);
	rc = 0;
	if (tally->found > 0 && !r->dry_run) {
		snprintf(ids, sizeof(ids), "{%" PRId64 "}", pg_int(res, 0, "id"));
		rc = write_rows(conn, ids, tally, err);
	}
done:
	PQclear(res);
	return rc;
}

static int republish_page(PGconn *conn, const struct republish *r, int64_t *after,
    struct tally *tally, int64_t *ret_rows, struct err *err)
{
	char from[PG_NUMBER_SIZE], most[PG_NUMBER_SIZE];
	const char *params[] = {
	    pg_number(from, *after), pg_number(most, PAGE_ROWS), r->purchase, r->since, r->until};
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(conn, cli_sql_republish_page_sql, 5, params, &res, err) < 0)
		goto done;
	*ret_rows = pg_int(res, 0, "rows");
	*after = pg_int(res, 0, "last");
	tally->found += *ret_rows;
	if (*ret_rows > 0 && !r->dry_run &&
	    write_rows(conn, pg_text(res, 0, "ids"), tally, err) < 0)
		goto done;
	rc = 0;
done:
	PQclear(res);
	return rc;
}

static int republish_pages(
    PGconn *conn, const struct republish *r, struct tally *tally, struct err *err)
{
	int64_t after = 0, rows;

	do {
		if (republish_page(conn, r, &after, tally, &rows, err) < 0)
			return -1;
	} while (rows == PAGE_ROWS);
	return 0;
}

static void say(const struct republish *r, const struct tally *tally)
{
	const char *messages = print_plural(tally->found, "message", "messages");

	if (r->json) {
		json_t *json = json_pack("{s:I, s:I, s:b}", "found", (json_int_t)tally->found,
		    "republished", (json_int_t)tally->written, "dry_run", (int)r->dry_run);

		print_json(stdout, json);
		return;
	}
	if (r->dry_run)
		printf("would republish %" PRId64 " %s\n", tally->found, messages);
	else
		printf("republished %" PRId64 " of %" PRId64 " %s%s\n", tally->written,
		    tally->found, messages,
		    tally->written < tally->found ? "; the others are not ticked yet" : "");
}

static int run(void *config, struct err *err)
{
	const struct republish *r = config;
	struct tally tally = {0};
	PGconn *conn = NULL;
	int rc = -1;

	if (check_words(r, err) < 0 ||
	    sources_open_schema(r->database_url, "republish", "intake", &conn, err) < 0 ||
	    check_times(conn, r, err) < 0)
		goto done;
	rc = r->message ? republish_message(conn, r, &tally, err)
			: republish_pages(conn, r, &tally, err);
	if (rc < 0 && tally.written > 0)
		err_wrap(err, "after %" PRId64 " %s (run it again)", tally.written,
		    print_plural(tally.written, "message", "messages"));
	if (rc < 0)
		goto done;
	say(r, &tally);
	if (tally.found == 0)
		rc = err_set(err, ERR_FATAL, "the outbox has no such message (any more)");
done:
	PQfinish(conn);
	return rc;
}

int command_republish(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct republish), .run = run};

	return command_run(&body, argc, argv);
}
