/*
 * reprocess.c - umavez reprocess: quarantined notifications through today's parsers.
 */
#include "cli/reprocess.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/sources.h"
#include "cli_text.h"
#include "common/memory.h"
#include "common/pg.h"
#include "producer/app_store.h"
#include "producer/google_play.h"
#include "producer/stripe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What quarantined.sql gives at most. */
enum { PAGE_ROWS = 20 };

struct reprocess {
	char *database_url;
	char *store, *notification;
	struct option_list packages;
	bool all, dry_run, json;
};

struct tally {
	int64_t understood, left;
	int64_t refused; /* of what is left: by its parser, not for being a duplicate */
};

/* One row of quarantined.sql. */
struct quarantined {
	const char *store, *id, *remark;
	struct webhook hook;
	unsigned char *body; /* PQfreemem() */
};

static const struct option options[] = {
    SOURCES_INTAKE_OPTION(offsetof(struct reprocess, database_url)),
    {"store", OPT_STRING, offsetof(struct reprocess, store), NULL,
	"Only this store (app_store, google_play, stripe, ...)", 0, 0, 0, NULL, NULL},
    {"notification", OPT_STRING, offsetof(struct reprocess, notification), NULL,
	"The notification with this id", 0, 0, 0, NULL, NULL},
    {"all", OPT_BOOL, offsetof(struct reprocess, all), "off", "Every quarantined notification", 0,
	0, 0, NULL, NULL},
    {"google-package", OPT_LIST, offsetof(struct reprocess, packages), NULL,
	"As the producers have it; needed for what was for no package of ours", 0, 0, 0, NULL,
	NULL},
    {"dry-run", OPT_BOOL, offsetof(struct reprocess, dry_run), "off",
	"Only say what would be understood", 0, 0, 0, NULL, NULL},
    {"json", OPT_BOOL, offsetof(struct reprocess, json), "off",
	"One object a notification, one a line, for programs", 0, 0, 0, NULL, NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "--notification ID | --all  [--store S]  [OPTION]...\n\n"
    "Gives notifications that were authentic and not understood to the parsers of this version.\n"
    "What they understand is received as if it came now, in one transaction each: notification,\n"
    "purchase and outbox row.  What they do not stays quarantined, the reason is printed, and\n"
    "the exit status is 1.\n\n"
    "Signatures are not checked again: the bytes were verified when they came, and certificates\n"
    "and secrets may have changed since.  What stores sent is read by nobody but the schema's "
    "owner:\n"
    "run it as that role.";

static bool is_store(const struct quarantined *q, const char *family)
{
	return strncmp(q->store, family, strlen(family)) == 0;
}

/* NULL, and *ret_why (static text): there is nothing to read. */
static struct notification *read_again(
    const struct reprocess *r, const struct quarantined *q, const char **ret_why)
{
	if (!q->hook.body)
		*ret_why = "its body is no longer kept";
	else if (is_store(q, "stripe"))
		return stripe_reread(q->store, &q->hook);
	else if (is_store(q, "app_store"))
		return app_store_reread(q->store, &q->hook);
	else if (!is_store(q, "google_play"))
		*ret_why = "its store has no parser";
	else if (r->packages.n == 0 && q->remark &&
		 strcmp(q->remark, GOOGLE_PLAY_OTHER_PACKAGE) == 0)
		*ret_why = GOOGLE_PLAY_OTHER_PACKAGE;
	else
		return google_play_reread(&r->packages, &q->hook);
	return NULL;
}

static void take_row(const PGresult *res, int row, struct quarantined *ret)
{
	const char *body = pg_text(res, row, "body"), *slash;
	struct quarantined q = {.store = pg_text(res, row, "store"),
	    .id = pg_text(res, row, "notification_id"),
	    .remark = pg_text(res, row, "remark")};

	if (body)
		q.body = PQunescapeBytea((const unsigned char *)body, &q.hook.len);
	q.hook.body = q.body;
	q.hook.now_ms = pg_int(res, row, "received_ms");
	slash = strrchr(q.id, '/');
	if (slash)
		q.hook.pubsub_message_id = slash + 1;
	*ret = q;
}

enum fate { UNDERSTOOD, WOULD_BE_UNDERSTOOD, NOT_UNDERSTOOD, DUPLICATE, GONE };

/* detail: its kind, why it is not understood, or the id that it was received under again. */
static void tell(
    const struct reprocess *r, const struct quarantined *q, enum fate fate, const char *detail)
{
	static const struct {
		const char *name, *detail, *text;
	} fates[] = {
	    [UNDERSTOOD] = {"understood", "kind", ""},
	    [WOULD_BE_UNDERSTOOD] = {"would_be_understood", "kind", "would be "},
	    [NOT_UNDERSTOOD] = {"not_understood", "reason", "not understood: "},
	    [DUPLICATE] = {"duplicate", "received_as", "stays: it was received again as "},
	    [GONE] = {"gone", "reason", ""},
	};
	struct printer printer;

	if (r->json) {
		print_json(
		    stdout, json_pack("{s:s, s:o, s:s, s:o}", "store", q->store, "notification_id",
				print_json_text(q->id), "outcome", fates[fate].name,
				fates[fate].detail, print_json_text(detail)));
		return;
	}
	printer_init(&printer, stdout);
	print_text(&printer, TINT_PLAIN, "%s/%s: %s%s", q->store, q->id, fates[fate].text, detail);
	putchar('\n');
}

static int store_again(PGconn *conn, const struct reprocess *r, const struct quarantined *q,
    const struct notification *n, struct tally *tally, struct err *err)
{
	enum reprocess_outcome outcome;

	if (reprocess_write(conn, q->id, n, &outcome, err) < 0)
		return err_wrap(err, "%s/%s", q->store, q->id);
	switch (outcome) {
	case REPROCESS_DONE:
		tally->understood++;
		tell(r, q, UNDERSTOOD, kind_name(n->kind));
		break;
	case REPROCESS_GONE:
		tell(r, q, GONE, "not quarantined any more");
		break;
	case REPROCESS_DUPLICATE:
		tally->left++;
		tell(r, q, DUPLICATE, n->notification_id);
		break;
	}
	return 0;
}

static int reprocess_one(PGconn *conn, const struct reprocess *r, const struct quarantined *q,
    struct tally *tally, struct err *err)
{
	const char *why = NULL;
	struct notification *n = read_again(r, q, &why);
	int rc = 0;

	if (!n || n->kind == KIND_UNRECOGNIZED) {
		tally->left++;
		tally->refused++;
		tell(r, q, NOT_UNDERSTOOD, n && n->remark ? n->remark : why ? why : "");
	} else if (r->dry_run) {
		tally->understood++;
		tell(r, q, WOULD_BE_UNDERSTOOD, kind_name(n->kind));
	} else {
		rc = store_again(conn, r, q, n, tally, err);
	}
	notification_free(n);
	return rc;
}

/* store and id: the key of the last one; replaced. */
static int reprocess_page(PGconn *conn, const struct reprocess *r, char **store, char **id,
    struct tally *tally, int *ret_rows, struct err *err)
{
	const char *params[] = {*store, *id, r->store, r->notification};
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(conn, cli_sql_quarantined_sql, 4, params, &res, err) < 0)
		goto done;
	*ret_rows = PQntuples(res);
	for (int row = 0; row < *ret_rows; row++) {
		struct quarantined q;

		take_row(res, row, &q);
		notification_set(store, q.store);
		notification_set(id, q.id);
		rc = reprocess_one(conn, r, &q, tally, err);
		PQfreemem(q.body);
		if (rc < 0)
			goto done;
	}
	rc = 0;
done:
	PQclear(res);
	return rc;
}

static int reprocess_pages(
    PGconn *conn, const struct reprocess *r, struct tally *tally, struct err *err)
{
	char *store = mem_strdup(""), *id = mem_strdup("");
	int rows, rc;

	do
		rc = reprocess_page(conn, r, &store, &id, tally, &rows, err);
	while (rc == 0 && rows == PAGE_ROWS);
	free(store);
	free(id);
	return rc;
}

/* What stores sent is the owner's alone to read. */
static int say_who(struct err *err)
{
	char *denied = mem_strdup(err->message);

	if (strcmp(err->sqlstate, "42501") == 0)
		err_set(err, ERR_USAGE, "%.200s: run it as the owner of the schema intake", denied);
	free(denied);
	return -1;
}

static int verdict(const struct tally *tally, struct err *err)
{
	if (tally->refused == 0)
		return 0;
	return err_set(err, ERR_FATAL, "%" PRId64 " %s quarantined", tally->refused,
	    print_plural(tally->refused, "notification stays", "notifications stay"));
}

static int run(void *config, struct err *err)
{
	const struct reprocess *r = config;
	struct tally tally = {0};
	PGconn *conn = NULL;
	int rc = -1;

	if (r->all == (r->notification != NULL))
		return err_set(err, ERR_USAGE, "give --notification ID, or --all");
	if (sources_open_schema(r->database_url, "reprocess", "intake", &conn, err) < 0)
		goto done;
	if (reprocess_pages(conn, r, &tally, err) < 0) {
		say_who(err);
		goto done;
	}
	if (r->notification && tally.understood + tally.left == 0) {
		err_set(err, ERR_FATAL, "no notification of that id is quarantined");
		goto done;
	}
	if (!r->json)
		printf("%" PRId64 " %s, %" PRId64 " not\n", tally.understood,
		    r->dry_run ? "would be understood" : "understood", tally.left);
	rc = verdict(&tally, err);
done:
	PQfinish(conn);
	return rc;
}

int command_reprocess(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct reprocess), .run = run};

	return command_run(&body, argc, argv);
}
