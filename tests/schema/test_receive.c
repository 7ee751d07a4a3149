/*
 * intake.receive(): what is kept, once, and told (P1, P2, P3, P12), and that batches do not
 * deadlock.
 */
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;
static PGconn *conn;

static const struct note started = {.store = "app_store",
    .id = "n1",
    .kind = "started",
    .purchase = "p1",
    .rank = 2,
    .at_s = 10,
    .product = "gold",
    .account = "alice",
    .state = "active",
    .transaction = "t1",
    .will_renew = "yes",
    .expires_s = 1000,
    .amount = 999};

static void clean(void)
{
	world_sql(world, "TRUNCATE intake.notification, intake.purchase, intake.outbox");
}

static struct note note(const char *store, const char *id, const char *purchase)
{
	struct note n = started;

	n.store = store;
	n.id = id;
	n.purchase = purchase;
	return n;
}

static void check_p1_duplicate(void)
{
	struct note other = note("app_store", "n2", "p2");
	struct note batch[] = {started, other};
	bool accepted[2];

	clean();
	notes_receive(conn, &started, 1, accepted);
	CHECK(accepted[0]);
	notes_receive(conn, batch, 2, accepted);
	CHECK(!accepted[0] && accepted[1]);
	notes_receive(conn, batch, 2, accepted);
	CHECK(!accepted[0] && !accepted[1]);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"), 2);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 2);
	CHECK_INT(world_int(world, "SELECT max(version) FROM intake.purchase"), 1);
}

struct storm {
	PGconn *conn;
	int accepted;
};

static void *deliver_again(void *arg)
{
	struct storm *s = arg;
	bool accepted;

	for (int i = 0; i < 50; i++) {
		char id[16];
		struct note n;

		snprintf(id, sizeof(id), "n%d", i);
		n = note("stripe", id, id);
		notes_receive(s->conn, &n, 1, &accepted);
		s->accepted += accepted;
	}
	return NULL;
}

static void check_p1_duplicate_at_once(void)
{
	struct storm storms[4];
	pthread_t threads[4];
	int accepted = 0;

	clean();
	for (int i = 0; i < 4; i++) {
		storms[i] = (struct storm){world_pg(world), 0};
		pthread_create(&threads[i], NULL, deliver_again, &storms[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		accepted += storms[i].accepted;
		PQfinish(storms[i].conn);
	}
	CHECK_INT(accepted, 50);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"), 50);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 50);
}

static void check_p2_one_row_a_purchase(void)
{
	struct note batch[] = {note("app_store", "n1", "p1"), note("app_store_sandbox", "n1", "p1"),
	    note("stripe", "n1", "p1")};
	struct note more = note("app_store", "n2", "p1");
	bool accepted[3];

	clean();
	notes_receive(conn, batch, 3, accepted);
	CHECK(accepted[0] && accepted[1] && accepted[2]);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.purchase"), 3);
	more.at_s = 20;
	notes_receive(conn, &more, 1, NULL);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.purchase"), 3);
	CHECK_INT(
	    world_int(world, "SELECT version FROM intake.purchase WHERE store = 'app_store'"), 2);
}

static void check_p3_equal_xids(void)
{
	struct note batch[] = {
	    note("app_store", "n1", "p1"), note("stripe", "n1", "p1"), note("stripe", "n2", "p2")};
	struct note newer = note("app_store", "n2", "p1"), older = note("app_store", "n0", "p1");

	clean();
	newer.at_s = 20;
	older.at_s = 1;
	notes_receive(conn, batch, 3, NULL);
	notes_receive(conn, &newer, 1, NULL);
	notes_receive(conn, &older, 1, NULL);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification n JOIN intake.outbox "
				   "o ON o.source = n.store"
				   " AND o.message_id = n.notification_id AND o.xid = n.xid"),
	    5);
	CHECK_INT(
	    world_int(world,
		"SELECT count(*) FROM intake.purchase p WHERE xid = (SELECT o.xid"
		" FROM intake.outbox o WHERE o.subject = p.store || '/' || p.store_purchase_id"
		" ORDER BY id DESC LIMIT 1)"),
	    3);
	CHECK_INT(world_int(world, "SELECT count(DISTINCT xid) FROM intake.notification"), 3);
}

static void check_p12_quarantined(void)
{
	struct note odd = {.store = "stripe", .id = "sha256:00", .kind = "unrecognized", .at_s = 5};
	struct note batch[] = {odd, started};
	bool accepted[2];

	clean();
	notes_receive(conn, batch, 2, accepted);
	CHECK(accepted[0] && accepted[1]);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"), 2);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 1);
	CHECK_TEXT(world, "SELECT message_id FROM intake.outbox", "n1");
	notes_receive(conn, &odd, 1, accepted);
	CHECK(!accepted[0]);
}

/* What has no purchase is told under a subject of its own. */
static void check_no_purchase(void)
{
	struct note test = {.store = "stripe", .id = "evt_1", .kind = "test", .at_s = 5};

	clean();
	notes_receive(conn, &test, 1, NULL);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.purchase"), 0);
	CHECK_TEXT(world, "SELECT subject FROM intake.outbox", "stripe//evt_1");
	CHECK_TEXT(world, "SELECT type FROM intake.outbox", "notification.test");
	CHECK_TEXT(world, "SELECT json_typeof(data -> 'purchase') FROM intake.outbox", "null");
}

static void check_event(void)
{
	clean();
	notes_receive(conn, &started, 1, NULL);
	CHECK_TEXT(world,
	    "SELECT concat_ws(' ', source, message_id, type, subject) FROM intake.outbox",
	    "app_store n1 purchase.started app_store/p1");
	CHECK_INT(world_int(world, "SELECT extract(epoch FROM time) FROM intake.outbox"),
	    NOTES_EPOCH_MS / 1000 + 10);
	CHECK_TEXT(world,
	    "SELECT concat_ws(' ', data ->> 'kind', data ->> 'superseded',"
	    " data #>> '{purchase,state}', data #>> '{purchase,version}',"
	    " data #>> '{purchase,account_ref}') FROM intake.outbox",
	    "started false active 1 alice");
}

static void check_bytes_kept(void)
{
	clean();
	notes_receive(conn, &started, 1, NULL);
	CHECK_TEXT(world, "SELECT encode(body, 'escape') FROM intake.notification", "n1");
}

static void check_refused_whole(void)
{
	struct note bad = note("app_store", "n2", "p2");
	struct note batch[] = {started, bad};

	clean();
	batch[1].state = "nonsense";
	CHECK_STR(notes_refused(conn, batch, 2), "23514");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"), 0);
	batch[1] = note("no_store", "n2", "p2");
	CHECK_STR(notes_refused(conn, batch, 2), "23514");
	/* Two of one purchase are the caller's mistake. */
	batch[1] = note("app_store", "n2", "p1");
	CHECK_STR(notes_refused(conn, batch, 2), "21000");
}

#define KEYS 200
#define ROUNDS 100
#define AGE 5 /* rounds that purchases live: late ones read all that came before */

struct opponent {
	PGconn *conn;
	bool backwards;
	const char *name;
	pthread_barrier_t *start;
};

/* Every round new notifications of the same purchases, in the given order. */
static void *fight(void *arg)
{
	const struct opponent *o = arg;
	struct note *batch = calloc(KEYS, sizeof(*batch));
	char(*ids)[2][32] = calloc(KEYS, sizeof(*ids));

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < KEYS; i++) {
			int place = o->backwards ? KEYS - 1 - i : i;

			/* They meet on purchases, and every second round on ids before that. */
			snprintf(ids[place][0], 32, "%s-%d-%d",
			    round % 2 || i % 3 ? o->name : "both", round, i);
			snprintf(ids[place][1], 32, "p%d-%d", round / AGE, i);
			batch[place] = note("google_play", ids[place][0], ids[place][1]);
			batch[place].at_s = round + (o->backwards ? i % 2 : 0);
		}
		pthread_barrier_wait(o->start);
		notes_receive(o->conn, batch, KEYS, NULL);
	}
	free(ids);
	free(batch);
	return NULL;
}

static void check_no_deadlock(void)
{
	pthread_barrier_t start;
	struct opponent opponents[] = {{world_pg(world), false, "forward", &start},
	    {world_pg(world), true, "backward", &start}};
	pthread_t threads[2];

	pthread_barrier_init(&start, NULL, 2);
	clean();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, fight, &opponents[i]);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		PQfinish(opponents[i].conn);
	}
	pthread_barrier_destroy(&start);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.purchase"), KEYS * ROUNDS / AGE);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"),
	    world_int(world, "SELECT count(*) FROM intake.notification"));
	CHECK_INT(world_int(world,
		      "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"),
	    0);
}

struct latecomer {
	PGconn *conn;
	struct note note;
};

static void *receive_one(void *arg)
{
	const struct latecomer *l = arg;

	notes_receive(l->conn, &l->note, 1, NULL);
	return NULL;
}

/* Whoever waited for the purchase draws its id after the wait: id order is commit order. */
static void check_id_under_lock(void)
{
	PGconn *holder = world_pg(world);
	struct latecomer late = {world_pg(world), note("app_store", "waited", "p1")};
	struct note again = note("app_store", "held", "p1");
	pthread_t thread;

	clean();
	again.at_s = 20;
	late.note.at_s = 30;
	PQclear(PQexec(holder, "BEGIN"));
	notes_receive(holder, &started, 1, NULL);
	pthread_create(&thread, NULL, receive_one, &late);
	CHECK(world_await_int(world, 1, 10000,
	    "SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event_type = 'Lock'",
	    PQbackendPID(late.conn)));
	notes_receive(holder, &again, 1, NULL);
	PQclear(PQexec(holder, "COMMIT"));
	pthread_join(thread, NULL);
	CHECK_TEXT(world, "SELECT string_agg(message_id, ' ' ORDER BY id) FROM intake.outbox",
	    "n1 held waited");
	PQfinish(holder);
	PQfinish(late.conn);
}

static void check_xid_floor(void)
{
	clean();
	world_sql(world, "UPDATE intake.setting SET xid_floor = '1000000000'");
	CHECK_STR(notes_refused(conn, &started, 1), "UMV03");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"), 0);
	world_sql(world, "UPDATE intake.setting SET xid_floor = pg_current_xact_id()");
	notes_receive(conn, &started, 1, NULL);
	world_sql(world, "UPDATE intake.setting SET xid_floor = '0'");
}

static void check_shard_of(void)
{
	/* By sha256sum: 1dd18c2d..., 94711cc4..., fef443d9..., 003da997... */
	CHECK_INT(world_int(world, "SELECT intake.shard_of('app_store', '1')"), 1);
	CHECK_INT(world_int(world, "SELECT intake.shard_of_subject('app_store/1', 1000)"), 173);
	CHECK_INT(world_int(world, "SELECT intake.shard_of_subject('stripe/sub_1', 1000)"), 900);
	CHECK_INT(
	    world_int(world, "SELECT intake.shard_of_subject('google_play/tok\u00e9', 1024)"), 985);
	CHECK_INT(world_int(world, "SELECT intake.shard_of_subject('stripe//evt_1', 4)"), 3);
}

static const struct check checks[] = {
    {"P1: a duplicate is answered as one and changes nothing", check_p1_duplicate},
    {"P1: of many at once one is accepted", check_p1_duplicate_at_once},
    {"P2: a purchase has one row, its store in the key", check_p2_one_row_a_purchase},
    {"P3: the rows of one notification carry one xid", check_p3_equal_xids},
    {"P12: what was not understood is kept and not told", check_p12_quarantined},
    {"no purchase: a subject of its own", check_no_purchase},
    {"the event tells the notification and the purchase", check_event},
    {"the exact bytes are kept", check_bytes_kept},
    {"a batch is refused as a whole", check_refused_whole},
    {"B42: two batches in opposite orders never deadlock", check_no_deadlock},
    {"P5: per purchase, id order is commit order", check_id_under_lock},
    {"below the xid floor everything is refused", check_xid_floor},
    {"the shard of a purchase is stable", check_shard_of},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(4);
	conn = world_pg(world);
	status = check_main("schema receive", checks, argc, argv);
	PQfinish(conn);
	world_close(world);
	return status;
}
