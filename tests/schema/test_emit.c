/*
 * intake.emit(): who may, under which source, and in which order with everybody else.
 */
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <string.h>

static struct world *world;
static PGconn *admin;

/* A session of a role of PostgreSQL's own, beside the services'. */
static PGconn *session(const char *role)
{
	char *url = text_format("%s", world_admin_url(world));
	const char *const keywords[] = {"dbname", "user", "options", NULL};
	const char *const values[] = {url, role, "-c lock_timeout=300ms", NULL};
	PGconn *conn = PQconnectdbParams(keywords, values, 1);

	if (PQstatus(conn) != CONNECTION_OK)
		die("%s: %s", role, PQerrorMessage(conn));
	free(url);
	return conn;
}

/* The SQLSTATE, "" for success; until the next call. */
static const char *state_of(PGconn *conn, const char *sql)
{
	static char sqlstate[6];
	PGresult *res = PQexec(conn, sql);
	const char *field = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	memset(sqlstate, 0, sizeof(sqlstate));
	strncpy(sqlstate, field ? field : "", sizeof(sqlstate) - 1);
	PQclear(res);
	return sqlstate;
}

static const char emit[] =
    "SELECT intake.emit('billing', 'm1', 'invoice.paid', 'app_store/p1', '{}')";

/* A role that is gone takes nobody else's right with it. */
static void clean(void)
{
	world_sql(
	    world, "TRUNCATE intake.notification, intake.purchase, intake.outbox, intake.emitter");
	world_sql(world, "INSERT INTO intake.emitter (role_name, source)"
			 " VALUES ('gone', 'billing'), ('app_team', 'billing')");
}

static void make_roles(void)
{
	world_sql(world, "CREATE ROLE app_team; CREATE ROLE app LOGIN IN ROLE app_team;"
			 "CREATE ROLE stranger LOGIN;"
			 "GRANT umavez_emitter TO app_team, stranger");
}

static void receive(PGconn *conn, const char *id, int at_s)
{
	struct note n = {.store = "app_store",
	    .id = id,
	    .kind = "started",
	    .purchase = "p1",
	    .rank = 2,
	    .at_s = at_s,
	    .state = "active"};

	notes_receive(conn, &n, 1, NULL);
}

static void check_rights(void)
{
	PGconn *app = session("app"), *stranger = session("stranger");

	clean();
	CHECK_STR(state_of(app, emit), "");
	CHECK_STR(state_of(app, "SELECT intake.emit('other', 'm', 't', 's', '{}')"), "42501");
	CHECK_STR(state_of(app, "SELECT intake.emit('app_store', 'm', 't', 's', '{}')"), "42501");
	CHECK_STR(state_of(stranger, emit), "42501");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 1);
	PQfinish(app);
	PQfinish(stranger);
}

/* A temporary table is found before the catalogue, unless the function says otherwise. */
static void check_no_shadow(void)
{
	PGconn *stranger = session("stranger");

	clean();
	CHECK_STR(
	    state_of(stranger, "CREATE TEMP TABLE pg_roles AS SELECT 'app_team'::name AS rolname,"
			       " 'stranger'::regrole::oid AS oid"),
	    "");
	CHECK_STR(state_of(stranger, "GRANT SELECT ON pg_temp.pg_roles TO PUBLIC"), "");
	CHECK_STR(state_of(stranger, emit), "42501");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 0);
	PQfinish(stranger);
}

static void check_no_store(void)
{
	clean();
	CHECK_STR(
	    state_of(admin, "INSERT INTO intake.emitter VALUES ('app_team', 'stripe')"), "23514");
	CHECK_STR(
	    state_of(admin, "INSERT INTO intake.emitter VALUES ('app_team', 'manual')"), "23514");
	CHECK_STR(state_of(admin, "INSERT INTO intake.emitter VALUES ('app_team', '')"), "23514");
}

static void check_no_insert(void)
{
	static const char *const roles[] = {
	    "w_producer", "w_relay", "w_consumer", "w_operator", "app", "stranger"};

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		PGconn *conn = session(roles[i]);

		CHECK_STR(
		    state_of(conn, "INSERT INTO intake.outbox (shard, source, message_id, type,"
				   " subject, time, data) VALUES (0, 'billing', 'm', 't', 's',"
				   " now(), '{}')"),
		    "42501");
		PQfinish(conn);
	}
}

static void check_own_transaction(void)
{
	PGconn *app = session("app");

	clean();
	CHECK_STR(state_of(app, "BEGIN"), "");
	CHECK_STR(state_of(app, emit), "");
	CHECK_STR(state_of(app, "ROLLBACK"), "");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 0);
	CHECK_STR(state_of(app, "SELECT intake.emit('billing', '', 't', 's', '{}')"), "22023");
	CHECK_STR(state_of(app, "SELECT intake.emit('billing', 'm', 't', 's', NULL)"), "22023");
	CHECK_STR(state_of(app, "SELECT intake.emit('billing', repeat('m', 513), 't', 's', '{}')"),
	    "22023");
	CHECK_STR(
	    state_of(app, "SELECT intake.emit('billing', 'm', 't', 's', json_build_object('x', "
			  "repeat('x', 1048576)))"),
	    "54000");
	world_sql(world, "UPDATE intake.setting SET xid_floor = '1000000000'");
	CHECK_STR(state_of(app, emit), "UMV03");
	world_sql(world, "UPDATE intake.setting SET xid_floor = '0'");
	CHECK_STR(state_of(app, emit), "");
	CHECK_TEXT(world,
	    "SELECT concat_ws(' ', source, message_id, type, subject, data) FROM intake.outbox"
	    " WHERE shard = intake.shard_of('app_store', 'p1')",
	    "billing m1 invoice.paid app_store/p1 {}");
	PQfinish(app);
}

/* Whoever tells of a purchase waits for the one before, and draws its id after that. */
static void check_purchase_lock(void)
{
	PGconn *app = session("app"), *producer = session("w_producer");
	struct note newer = {.store = "app_store",
	    .id = "n2",
	    .kind = "renewed",
	    .purchase = "p1",
	    .rank = 3,
	    .at_s = 20,
	    .state = "active"};

	clean();
	receive(producer, "n1", 10);
	CHECK_STR(state_of(app, "BEGIN"), "");
	CHECK_STR(state_of(app, emit), "");
	CHECK_STR(notes_refused(producer, &newer, 1), "55P03");
	CHECK_STR(state_of(app, "COMMIT"), "");

	CHECK_STR(state_of(producer, "BEGIN"), "");
	notes_receive(producer, &newer, 1, NULL);
	CHECK_STR(state_of(app, emit), "55P03");
	CHECK_STR(state_of(producer, "COMMIT"), "");
	CHECK_STR(state_of(app, emit), "");
	CHECK_TEXT(world, "SELECT string_agg(message_id, ' ' ORDER BY id) FROM intake.outbox",
	    "n1 m1 n2 m1");
	PQfinish(app);
	PQfinish(producer);
}

static void check_subject_lock(void)
{
	PGconn *first = session("app"), *second = session("app");
	static const char same[] = "SELECT intake.emit('billing', 'm2', 't', 'customer/7', '{}')";

	clean();
	CHECK_STR(state_of(first, "BEGIN"), "");
	CHECK_STR(state_of(first, same), "");
	CHECK_STR(state_of(second, same), "55P03");
	CHECK_STR(
	    state_of(second, "SELECT intake.emit('billing', 'm3', 't', 'customer/8', '{}')"), "");
	CHECK_STR(state_of(first, "COMMIT"), "");
	CHECK_STR(state_of(second, same), "");
	PQfinish(first);
	PQfinish(second);
}

static const struct check checks[] = {
    {"a role emits under the sources granted to it", check_rights},
    {"a temporary table grants nothing", check_no_shadow},
    {"never under a store's name", check_no_store},
    {"nobody inserts into the outbox", check_no_insert},
    {"in the caller's own transaction", check_own_transaction},
    {"it holds the purchase's lock", check_purchase_lock},
    {"or a lock on the subject", check_subject_lock},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(4);
	admin = world_pg(world);
	make_roles();
	status = check_main("schema emit", checks, argc, argv);
	PQfinish(admin);
	world_close(world);
	return status;
}
