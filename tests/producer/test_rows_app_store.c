/* What Apple's notifications become in the database, through a running producer. */
#include "producer/ocsp.h"
#include "tests/producer/deliver.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/pause.h"
#include "tests/support/signer.h"
#include "tests/support/test_jws.h"
#include "tests/support/test_responder.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA "\"bundleId\":\"" SIGNER_BUNDLE_ID "\",\"environment\":"
#define SANDBOX DATA "\"Sandbox\""
#define PRODUCTION DATA "\"Production\",\"appAppleId\":" SIGNER_APP_ID

static struct world *world;
static struct proc *producer;

/* Frees jws. */
static int post_jws(struct proc *p, char *jws)
{
	char *body = text_format("{\"signedPayload\":\"%s\"}", jws);
	int status = post_apple(proc_url(p), body, NULL);

	free(body);
	free(jws);
	return status;
}

static int post(const char *payload)
{
	return post_jws(producer, sign_apple(world_signer(world), payload));
}

static int post_spec(const struct apple_spec *spec)
{
	char *body = apple_body(world_signer(world), spec);
	int status = post_apple(proc_url(producer), body, NULL);

	free(body);
	return status;
}

/* A notification of this id about a transaction, both in JSON members. */
static int post_transaction(const char *id, const char *data, const char *transaction)
{
	char *inner = text_format("{%s}", transaction);
	char *jws = sign_apple(world_signer(world), inner);
	char *payload = text_format("{\"notificationType\":\"DID_RENEW\",\"notificationUUID\":"
				    "\"%s\",\"data\":{%s,\"signedTransactionInfo\":\"%s\"}}",
	    id, data, jws);
	int status = post(payload);

	free(inner);
	free(jws);
	free(payload);
	return status;
}

/* Rows of intake about notifications whose id begins so. */
static int64_t rows(const char *id)
{
	char *pattern = text_format("^%s", id);
	int64_t n = stage_rows(world, pattern);

	free(pattern);
	return n;
}

static bool accepted_at_last(void *ctx)
{
	return post_jws(producer, strdup(ctx)) == 200;
}

static void b03_a_responder_that_does_not_answer(void)
{
	struct responder *r = responder_open(SILENT);
	struct test_ca *silent = test_ca_new(&(struct test_ca_spec){
	    .root_name = "Root with a responder", .ocsp_url = responder_url(r)});
	struct test_ca *absent = test_ca_new_branch(
	    silent, &(struct test_ca_spec){.ocsp_url = "http://127.0.0.1:1/ocsp"});
	char *root = text_format("%s/responder.pem", world_dir(world));
	const char *const args[] = {"--apple-root-file", root, "--apple-ocsp", NULL};
	char *payload = text_format("{\"notificationType\":\"TEST\",\"notificationUUID\":"
				    "\"b03-silent\",\"data\":{" SANDBOX "}}");
	char *jws = test_jws(silent, payload);
	struct proc *other = producer;
	int64_t started;

	test_ca_write_root_pem(silent, root);
	responder_set_ca(r, silent);
	producer = stage_producer(world, args);
	CHECK_INT(post_jws(producer, test_jws(absent, payload)), 503);
	started = now_ms();
	CHECK_INT(post_jws(producer, strdup(jws)), 503);
	CHECK(now_ms() - started < 2 * OCSP_TIMEOUT_MS);
	CHECK_INT(deliver(proc_url(producer), "b03-other", "sub_b03", NULL), 200);
	CHECK_INT(rows("b03-silent"), 0);
	/* The same bytes, when it answers. */
	responder_set_mood(r, ANSWERS_GOOD);
	CHECK(await(accepted_at_last, jws, 3 * OCSP_RETRY_MS));
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"
				   " WHERE notification_id = 'b03-silent'"),
	    1);
	stage_end(producer);
	producer = other;
	free(payload);
	free(jws);
	free(root);
	responder_close(r);
	test_ca_free(silent);
	test_ca_free(absent);
}

#define IDS "\"transactionId\":\"2\",\"originalTransactionId\":\"b04\""

static void b04_the_sandbox_never_touches_production(void)
{
	CHECK_INT(post_transaction("b04-sandbox", SANDBOX, SANDBOX "," IDS), 200);
	CHECK_INT(rows("b04-sandbox"), 3);
	CHECK_INT(world_int(world,
		      "SELECT count(*) FROM intake.notification AS n JOIN intake.purchase AS p"
		      " USING (store, store_purchase_id) JOIN intake.outbox AS o"
		      " ON (o.source, o.message_id) = (n.store, n.notification_id)"
		      " WHERE n.notification_id = 'b04-sandbox'"
		      " AND n.store = 'app_store_sandbox'"),
	    1);
	/* Another purchase, although Apple's id is the same. */
	CHECK_INT(post_transaction("b04-production", PRODUCTION, DATA "\"Production\"," IDS), 200);
	CHECK_INT(world_int(world, "SELECT count(DISTINCT store) FROM intake.purchase"
				   " WHERE store_purchase_id = 'b04' AND version = 1"),
	    2);

	CHECK_INT(
	    post_transaction("b04-no-app", DATA "\"Production\"", DATA "\"Production\"," IDS), 401);
	CHECK_INT(post_transaction("b04-mixed", PRODUCTION, SANDBOX "," IDS), 401);
	CHECK_INT(rows("b04-no-app") + rows("b04-mixed"), 0);
}

static void b05_what_is_new_or_has_no_transaction(void)
{
	CHECK_INT(post("{\"notificationType\":\"FUTURE_EVENT\",\"notificationUUID\":\"b05-future\","
		       "\"data\":{" SANDBOX "}}"),
	    200);
	CHECK_INT(post("{\"notificationType\":\"TEST\",\"notificationUUID\":\"b05-test\",\"data\":"
		       "{" SANDBOX "}}"),
	    200);
	CHECK_INT(post("{\"notificationType\":\"RENEWAL_EXTENSION\",\"subtype\":\"SUMMARY\","
		       "\"notificationUUID\":\"b05-summary\",\"summary\":{" PRODUCTION "}}"),
	    200);
	CHECK_INT(post("{\"notificationType\":\"EXTERNAL_PURCHASE_TOKEN\",\"notificationUUID\":"
		       "\"b05-external\",\"externalPurchaseToken\":{\"externalPurchaseId\":"
		       "\"SANDBOX_1\",\"bundleId\":\"" SIGNER_BUNDLE_ID "\"}}"),
	    200);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"
				   " WHERE notification_id ~ '^b05' AND store_purchase_id IS NULL"),
	    4);
	CHECK_INT(rows("b05"), 8); /* each has an event, and none a purchase */

	CHECK_INT(post_spec(&(struct apple_spec){.uuid = "b05-once",
		      .type = "ONE_TIME_CHARGE",
		      .original_transaction_id = "b05",
		      .transaction_id = "b05",
		      .price_milliunits = -1,
		      .auto_renew = -1}),
	    200);
	CHECK_INT(rows("b05-once"), 3);
}

#define OWNER "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"

static void expect_owner(const char *id, const char *type, const char *token)
{
	char *owner;

	CHECK_INT(post_spec(&(struct apple_spec){.uuid = id,
		      .type = type,
		      .original_transaction_id = "b06",
		      .transaction_id = id,
		      .account_token = token,
		      .price_milliunits = -1,
		      .auto_renew = -1}),
	    200);
	owner = world_text(world,
	    "SELECT p.account_ref || ' ' || (o.data #>> '{purchase,account_ref}')"
	    " FROM intake.purchase AS p, intake.outbox AS o"
	    " WHERE p.store_purchase_id = 'b06' AND o.message_id = '%s'",
	    id);
	CHECK_STR(owner, OWNER " " OWNER);
	free(owner);
}

static void b06_the_owner_stays(void)
{
	expect_owner("b06-a", "SUBSCRIBED", "AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE");
	expect_owner("b06-b", "DID_RENEW", NULL);
	expect_owner("b06-c", "DID_RENEW", OWNER);
	CHECK_INT(world_int(world,
		      "SELECT count(*) FROM intake.purchase WHERE account_ref = '" OWNER "'"),
	    1);
}

/* The date of this purchase, as it is kept and as it is told. */
static void expect_expiry(const char *id, const char *member, const char *want)
{
	char *inner = text_format(SANDBOX ",\"transactionId\":\"%s\"%s", id, member), *kept, *told;

	CHECK_INT(post_transaction(id, SANDBOX, inner), 200);
	kept = world_text(world,
	    "SELECT coalesce(to_char(expires_at AT TIME ZONE 'UTC', "
	    "'YYYY-MM-DD\"T\"HH24:MI:SS.MS'),"
	    " 'none') FROM intake.purchase WHERE store_purchase_id = '%s'",
	    id);
	told = world_text(world,
	    "SELECT coalesce(to_char((data #>> '{purchase,expires_at}')::timestamptz AT TIME ZONE"
	    " 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS'), 'none') FROM intake.outbox"
	    " WHERE message_id = '%s'",
	    id);
	CHECK_STR(kept, want);
	CHECK_STR(told, want);
	free(inner);
	free(kept);
	free(told);
}

static void b07_milliseconds_are_kept(void)
{
	expect_expiry("b07-a", ",\"expiresDate\":1767225600123", "2026-01-01T00:00:00.123");
	expect_expiry("b07-b", "", "none");
	expect_expiry("b07-c", ",\"expiresDate\":0", "1970-01-01T00:00:00.000");
	CHECK_INT(post_transaction("b07-d", SANDBOX,
		      SANDBOX ",\"transactionId\":\"b07-d\",\"expiresDate\":99999999999999999999"),
	    200);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification WHERE"
				   " notification_id = 'b07-d' AND kind = 'unrecognized'"),
	    1);
	CHECK(proc_alive(producer));
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B04 the Sandbox never touches Production", b04_the_sandbox_never_touches_production},
	    {"B05 what is new, or has no transaction", b05_what_is_new_or_has_no_transaction},
	    {"B06 the owner stays", b06_the_owner_stays},
	    {"B07 milliseconds are kept", b07_milliseconds_are_kept},
	    /* Of a producer of its own, which one that fails leaves behind. */
	    {"B03 a responder that does not answer", b03_a_responder_that_does_not_answer},
	    {NULL, NULL},
	};
	int status;

	world = world_open(2);
	producer = stage_producer(world, NULL);
	status = check_main("producer rows app_store", checks, argc, argv);
	world_close(world);
	return status;
}
