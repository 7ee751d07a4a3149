/*
 * umavez reprocess: what an older parser did not understand, each store's; and what still is not.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/invariants.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct world *world;

#define SAYS(status, out, err, ...)                                                                \
	STORY_SAYS(world, status, out, err, "reprocess", "--database-url", world_admin_url(world), \
	    __VA_ARGS__)

/* As a producer with an older parser would have left it. */
static void quarantine(const char *store, const char *id, const char *body)
{
	const char *const values[] = {store, id, body, STORY_TRACEPARENT};
	PGconn *conn = world_pg(world);
	PGresult *res = PQexecParams(conn,
	    "INSERT INTO intake.notification (store, notification_id, kind, rank, occurred_at,"
	    " received_at, remark, body, traceparent) VALUES ($1, $2, 'unrecognized', 0, now(),"
	    " '2026-01-02Z', 'an older parser', convert_to($3, 'UTF8'), $4)",
	    4, NULL, values, NULL, NULL, 0);

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		die("%s", PQerrorMessage(conn));
	PQclear(res);
	PQfinish(conn);
}

/* One of them, and that everything of it is of one transaction. */
static void check_understood(
    const char *store, const char *id, const char *now_id, const char *kind)
{
	char *says = text_format("%s/%s: %s\n1 understood, 0 not\n", store, id, kind);

	SAYS(0, says, "", "--notification", id);
	CHECK_INT(
	    world_int(world,
		"SELECT count(*) FROM intake.notification AS n JOIN intake.outbox AS o"
		" ON o.source = n.store AND o.message_id = n.notification_id AND o.xid = n.xid"
		" AND o.traceparent = n.traceparent"
		" WHERE n.store = '%s' AND n.notification_id = '%s' AND n.kind = '%s'"
		" AND n.received_at = '2026-01-02Z' AND n.body IS NOT NULL",
		store, now_id, kind),
	    1);
	CHECK_INT(invariants_broken(world, INVARIANTS_INTAKE), 0);
	free(says);
}

static char *subscription(const char *id)
{
	return stripe_event(id, "customer.subscription.updated", 1, (int64_t)time(NULL),
	    "{\"id\":\"sub_1\",\"object\":\"subscription\",\"status\":\"active\",\"customer\":"
	    "\"cus_1\"}");
}

static void check_stripe(void)
{
	char *body = subscription("evt_1"), *other = subscription("evt_2");

	quarantine("stripe", "evt_1", body);
	SAYS(0, "1 would be understood, 0 not\n", "", "--all", "--dry-run");
	SAYS(0,
	    "{\"store\":\"stripe\",\"notification_id\":\"evt_1\",\"outcome\":"
	    "\"would_be_understood\",\"kind\":\"changed\"}\n",
	    "", "--all", "--dry-run", "--json");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 0);
	check_understood("stripe", "evt_1", "evt_1", "changed");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.purchase AS p JOIN "
				   "intake.notification AS n USING (xid)"
				   " WHERE p.store_purchase_id = 'sub_1' AND p.state = 'active'"),
	    1);
	/* Its own id can be read now: another delivery would be a duplicate. */
	quarantine("stripe", "sha256:ab", other);
	check_understood("stripe", "sha256:ab", "evt_2", "changed");
	/* It came again before that. */
	quarantine("stripe", "sha256:cd", other);
	SAYS(0, "stripe/sha256:cd: stays: it was received again as evt_2\n0 understood, 1 not\n",
	    "", "--notification", "sha256:cd");
	SAYS(1, "", "no notification", "--notification", "evt_1");
	world_sql(world, "DELETE FROM intake.notification WHERE kind = 'unrecognized'");
	free(body);
	free(other);
}

static void check_app_store(void)
{
	const struct apple_spec spec = {.uuid = "u-1",
	    .type = "DID_RENEW",
	    .environment = "Sandbox",
	    .original_transaction_id = "1000",
	    .transaction_id = "1001",
	    .product_id = "gold",
	    .purchase_date = 1767225600000,
	    .expires_date = 1769904000000,
	    .price_milliunits = -1,
	    .auto_renew = 1};
	char *body = apple_body(world_signer(world), &spec);

	quarantine("app_store_sandbox", "u-1", body);
	check_understood("app_store_sandbox", "u-1", "u-1", "renewed");
	quarantine("app_store_sandbox", "sha256:ee", "{\"signedPayload\":\"a.b\"}");
	SAYS(1, "app_store_sandbox/sha256:ee: not understood: ", "", "--notification", "sha256:ee");
	world_sql(world, "DELETE FROM intake.notification WHERE kind = 'unrecognized'");
	free(body);
}

static void check_google(void)
{
	static const char notice[] =
	    "{\"version\":\"1.0\",\"packageName\":\"" SIGNER_PACKAGE "\",\"eventTimeMillis\":"
	    "\"1767225600000\",\"subscriptionNotification\":{\"version\":\"1.0\","
	    "\"notificationType\":2,\"purchaseToken\":\"tok\"}}";
	char *wrapped = google_body("77", notice);

	quarantine("google_play", SIGNER_PACKAGE "/77", wrapped);
	check_understood("google_play", SIGNER_PACKAGE "/77", SIGNER_PACKAGE "/77", "renewed");
	quarantine("google_play", SIGNER_PACKAGE "/78", notice);
	check_understood("google_play", SIGNER_PACKAGE "/78", SIGNER_PACKAGE "/78", "renewed");
	/* What was for no package of ours needs to be told that it is now. */
	quarantine("google_play", SIGNER_PACKAGE "/79", notice);
	world_sql(world,
	    "UPDATE intake.notification SET remark = 'its package is none of --google-package'"
	    " WHERE kind = 'unrecognized'");
	SAYS(1, "none of --google-package\n0 understood, 1 not", "", "--all");
	SAYS(1, "0 understood, 1 not", "", "--all", "--google-package", "com.other");
	SAYS(0, "1 understood, 0 not", "", "--all", "--google-package", SIGNER_PACKAGE);
	free(wrapped);
}

/* More than a page, of which nothing can be read. */
static void check_not_understood(void)
{
	for (int i = 0; i < 45; i++) {
		char *id = text_format("odd-%02d", i);

		quarantine(i % 2 ? "stripe" : "google_play", id, i % 3 ? "{" : "[1]");
		free(id);
	}
	world_sql(
	    world, "UPDATE intake.notification SET body = NULL WHERE notification_id = 'odd-07'");
	SAYS(1, "stripe/odd-07: not understood: its body is no longer kept\n", "", "--all");
	SAYS(1, "\n0 understood, 45 not\n", "", "--all");
	SAYS(1, "\n0 understood, 22 not\n", "umavez reprocess: 22 notifications stay quarantined",
	    "--all", "--store", "stripe");
	CHECK_INT(world_int(world,
		      "SELECT count(*) FROM intake.notification WHERE kind = 'unrecognized'"),
	    45);
	/* As the operator, who may not read what stores sent. */
	STORY_SAYS(world, 2, "", "notification: run it as the owner of the schema intake",
	    "reprocess", "--all");
	SAYS(2, "", "give --notification ID, or --all", NULL);
}

static const struct check checks[] = {
    {"stripe", check_stripe},
    {"app store", check_app_store},
    {"google play", check_google},
    {"what is not understood stays", check_not_understood},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	witness_install(world);
	status = check_main("cli reprocess", checks, argc, argv);
	world_close(world);
	return status;
}
