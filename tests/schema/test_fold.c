/*
 * A purchase is the fold of its notifications in key order, whatever order they arrived in.
 */
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { EVENTS = 5, ORDERS = 120 };

static struct world *world;
static PGconn *conn;

static const struct note subscribed = {.store = "app_store",
    .id = "subscribed",
    .kind = "started",
    .rank = 2,
    .product = "gold",
    .account = "alice",
    .state = "active",
    .transaction = "t1",
    .will_renew = "yes",
    .expires_s = 1000,
    .amount = 100};
static const struct note renewed = {.store = "app_store",
    .id = "did_renew",
    .kind = "renewed",
    .rank = 3,
    .product = "gold",
    .state = "active",
    .transaction = "t2",
    .expires_s = 2000,
    .amount = 200};
static const struct note canceled = {.store = "app_store",
    .id = "auto_renew_disabled",
    .kind = "canceled",
    .rank = 4,
    .will_renew = "no"};
static const struct note refunded = {.store = "app_store",
    .id = "refund",
    .kind = "refunded",
    .rank = 8,
    .state = "refunded",
    .current_only = true,
    .transaction = "t2",
    .amount = 200};
static const struct note noted = {.store = "app_store",
    .id = "noted",
    .kind = "noted",
    .rank = 0,
    .product = "silver",
    .account = "bob",
    .transaction = "t0",
    .expires_s = 500};

/* When they occurred, in the order above, and what that makes of the purchase. */
struct timing {
	const char *name;
	int at_s[EVENTS];
	const char *end;
};
static const struct timing timings[] = {
    {"one after the other", {10, 20, 30, 40, 50}, "gold alice refunded f 2000 t2 200"},
    /* By rank: noted, subscribed, did_renew, auto_renew_disabled, refund. */
    {"in one second", {10, 10, 10, 10, 10}, "gold alice refunded f 2000 t2 200"},
    /* The refund is of a payment that the purchase is past again. */
    {"the other way round", {50, 40, 30, 20, 10}, "gold alice active t 1000 t1 100"},
    {"two and three at a time", {10, 10, 20, 20, 20}, "gold alice refunded f 2000 t2 200"},
    {"the refund before its payment", {10, 40, 30, 20, 20}, "gold alice active f 2000 t2 200"},
};

static const char end_state[] =
    "concat_ws(' ', product_id, account_ref, state, will_renew,"
    " (extract(epoch FROM expires_at) - 1767225600)::integer, transaction_id, amount_minor)";

static void clean(void)
{
	world_sql(world, "TRUNCATE intake.notification, intake.purchase, intake.outbox,"
			 " effects.entitlement, effects.ledger");
}

/* The number'th of the 120 orders of 0..4. */
static void order(int number, int ret_order[EVENTS])
{
	int left[EVENTS] = {0, 1, 2, 3, 4};

	for (int i = 0, n = EVENTS; n > 0; i++, n--) {
		int pick = number % n;

		number /= n;
		ret_order[i] = left[pick];
		memmove(&left[pick], &left[pick + 1], (size_t)(n - pick - 1) * sizeof(left[0]));
	}
}

struct delivery {
	PGconn *conn;
	const struct timing *timing;
	int first, step; /* of each order: first, first + step, ... */
};

/* The events of 120 purchases, each purchase's in an order of its own. */
static void *deliver(void *arg)
{
	static const struct note *const events[EVENTS] = {
	    &subscribed, &renewed, &canceled, &refunded, &noted};
	const struct delivery *d = arg;
	struct note batch[ORDERS];
	char names[ORDERS][12], ids[ORDERS][64];

	for (int place = d->first; place < EVENTS; place += d->step) {
		for (int i = 0; i < ORDERS; i++) {
			int places[EVENTS];

			order(i, places);
			batch[i] = *events[places[place]];
			batch[i].at_s = d->timing->at_s[places[place]];
			snprintf(names[i], sizeof(names[i]), "p%03d", i);
			snprintf(ids[i], sizeof(ids[i]), "p%03d %.40s", i, batch[i].id);
			batch[i].purchase = names[i];
			batch[i].id = ids[i];
		}
		notes_receive(d->conn, batch, ORDERS, NULL);
	}
	return NULL;
}

/* purchase by every order, and entitlement and ledger by what was published, in its order. (The 120
 * purchases share two payments and a refund.) */
static void check_end(const char *end)
{
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.purchase"), ORDERS);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), ORDERS * EVENTS);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.purchase WHERE %s = '%s'",
		      end_state, end),
	    ORDERS);
	world_sql(world,
	    "SELECT effects.apply_purchase(json_build_object('source', source, 'id',"
	    " message_id, 'data', data)) FROM (SELECT * FROM intake.outbox ORDER BY id) o");
	CHECK_INT(world_int(world,
		      "SELECT count(*) FROM intake.purchase p JOIN effects.entitlement e ON"
		      " (p.store, p.store_purchase_id, p.product_id, p.account_ref, p.state,"
		      "  p.will_renew, p.expires_at, p.occurred_at, p.rank, p.last_notification_id)"
		      " = (e.store, e.store_purchase_id, e.product_id, e.account_ref, e.state,"
		      "  e.will_renew, e.expires_at, e.occurred_at, e.rank, e.notification_id)"),
	    ORDERS);
	CHECK_INT(world_int(world, "SELECT count(*) FROM effects.ledger"), 3);
}

static void check_every_order(void)
{
	for (size_t t = 0; t < sizeof(timings) / sizeof(timings[0]); t++) {
		struct delivery d = {conn, &timings[t], 0, 1};

		printf("%s, ", timings[t].name);
		clean();
		deliver(&d);
		check_end(timings[t].end);
	}
}

static void check_two_sessions(void)
{
	for (size_t t = 0; t < sizeof(timings) / sizeof(timings[0]); t++) {
		struct delivery halves[] = {
		    {world_pg(world), &timings[t], 0, 2}, {world_pg(world), &timings[t], 1, 2}};
		pthread_t threads[2];

		printf("%s, ", timings[t].name);
		clean();
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, deliver, &halves[i]);
		for (int i = 0; i < 2; i++) {
			pthread_join(threads[i], NULL);
			PQfinish(halves[i].conn);
		}
		check_end(timings[t].end);
	}
}

static void receive(const struct note *event, const char *id, int at_s)
{
	struct note n = *event;

	n.purchase = "p";
	n.id = id;
	n.at_s = at_s;
	notes_receive(conn, &n, 1, NULL);
}

static void check_old_refund(void)
{
	struct note old_refund = refunded;

	clean();
	old_refund.transaction = "t1";
	receive(&subscribed, "a", 10);
	receive(&renewed, "b", 20);
	receive(&old_refund, "c", 30);
	CHECK_TEXT(
	    world, "SELECT state || ' ' || transaction_id FROM intake.purchase", "active t2");
	receive(&refunded, "d", 40);
	CHECK_TEXT(world, "SELECT state FROM intake.purchase", "refunded");
}

/* B06: a known owner is never erased, neither by the newest nor by a late one without. */
static void check_account_kept(void)
{
	clean();
	receive(&subscribed, "a", 10);
	receive(&renewed, "c", 30);
	CHECK_TEXT(world, "SELECT account_ref FROM intake.purchase", "alice");
	receive(&renewed, "b", 20);
	receive(&noted, "d", 40);
	CHECK_TEXT(world, "SELECT account_ref FROM intake.purchase", "alice");
}

/* Late: told with what it changed, or as superseded when it changed nothing. */
static void check_late(void)
{
	clean();
	receive(&renewed, "b", 20);
	receive(&subscribed, "a", 10);
	CHECK_TEXT(world,
	    "SELECT concat_ws(' ', account_ref, transaction_id, version) FROM intake.purchase",
	    "alice t2 2");
	CHECK_TEXT(world,
	    "SELECT concat_ws(' ', message_id, data ->> 'superseded', data #>> "
	    "'{purchase,account_ref}',"
	    " data #>> '{purchase,version}') FROM intake.outbox ORDER BY id DESC LIMIT 1",
	    "a false alice 2");
	receive(&renewed, "c", 15);
	CHECK_TEXT(world,
	    "SELECT concat_ws(' ', version, last_notification_id) FROM intake.purchase", "2 b");
	CHECK_TEXT(world,
	    "SELECT concat_ws(' ', message_id, data ->> 'superseded', data #>> "
	    "'{purchase,version}')"
	    " FROM intake.outbox ORDER BY id DESC LIMIT 1",
	    "c true 2");
	CHECK_INT(
	    world_int(world, "SELECT count(*) FROM intake.purchase p JOIN intake.notification n"
			     " ON n.xid = p.xid AND n.notification_id = 'c'"),
	    1);
}

/* A quarantined one takes no part, even under the purchase's key. */
static void check_unrecognized(void)
{
	struct note odd = refunded;

	clean();
	odd.kind = "unrecognized";
	odd.current_only = false;
	receive(&subscribed, "b", 20);
	receive(&odd, "c", 30);
	receive(&noted, "a", 10);
	CHECK_TEXT(
	    world, "SELECT state || ' ' || last_notification_id FROM intake.purchase", "active b");
}

static const struct check checks[] = {
    {"every order of arrival gives one end state", check_every_order},
    {"also when two sessions deliver at once", check_two_sessions},
    {"a refund of an old payment does not end the purchase", check_old_refund},
    {"B06: a known account is never erased", check_account_kept},
    {"a late one is folded in, and told", check_late},
    {"a quarantined one takes no part", check_unrecognized},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(4);
	conn = world_pg(world);
	status = check_main("schema fold", checks, argc, argv);
	PQfinish(conn);
	world_close(world);
	return status;
}
