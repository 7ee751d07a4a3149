/* What Stripe's events become in the database, through a running producer. */
#include "tests/producer/deliver.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/http.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct world *world;
static struct proc *producer;

static int post_signed(const char *secret, const char *body, size_t len)
{
	char *signature = sign_stripe(secret, time(NULL), body, len);
	char *header = text_format("Stripe-Signature: %s", signature);
	char *url = text_format("%s/webhooks/stripe", proc_url(producer));
	struct http_answer answer;
	int status;

	http_request("POST", url, (const char *const[]){header, NULL}, body, len, 10000, &answer);
	status = answer.status;
	http_answer_done(&answer);
	free(signature);
	free(header);
	free(url);
	return status;
}

static int post_live(const char *body)
{
	return post_signed(SIGNER_STRIPE_SECRET, body, strlen(body));
}

/* An event of this id, with an object and further members ("", or with a comma before). */
static int post(const char *id, const char *type, const char *object, const char *more)
{
	char *body = text_format("{\"id\":\"%s\",\"type\":\"%s\",\"created\":1767225600,"
				 "\"livemode\":true,\"data\":{%s%s}%s}",
	    id, type, *object ? "\"object\":" : "", object, more);
	int status = post_live(body);

	free(body);
	return status;
}

static void expect_text(const char *want, const char *sql, const char *id)
{
	char *text = world_text(world, sql, id);

	CHECK_STR(text, want);
	free(text);
}

#define SUBSCRIPTION(id, more) "{\"id\":\"" id "\",\"status\":\"active\"" more "}"
#define AT_ITEM ",\"items\":{\"data\":[{\"current_period_end\":1770000000}]}"

static void b24_the_shape_follows_the_api_version(void)
{
	static const char kept[] =
	    "SELECT concat_ws(' ', extract(epoch FROM expires_at)::bigint, account_ref)"
	    " FROM intake.purchase WHERE store_purchase_id = '%s'";
	static const char type[] = "customer.subscription.created";

	CHECK_INT(post("evt_b24_1", type,
		      SUBSCRIPTION("sub_b24_1", ",\"current_period_end\":1770000000"
						",\"customer\":{\"id\":\"cus_1\"}"),
		      ",\"request\":\"req_1\""),
	    200);
	expect_text("1770000000 cus_1", kept, "sub_b24_1");
	CHECK_INT(post("evt_b24_2", type, SUBSCRIPTION("sub_b24_2", ",\"customer\":null" AT_ITEM),
		      ",\"request\":null,\"api_version\":\"2025-03-31.basil\""),
	    200);
	expect_text("1770000000", kept, "sub_b24_2");
	/* Neither place: no date, and not 1970. */
	CHECK_INT(
	    post("evt_b24_3", type, SUBSCRIPTION("sub_b24_3", ",\"customer\":\"cus_1\""), ""), 200);
	expect_text("cus_1", kept, "sub_b24_3");
	CHECK_INT(post("evt_b24_4", type, "", ""), 200);
	expect_text("unrecognized",
	    "SELECT kind FROM intake.notification WHERE notification_id = '%s'", "evt_b24_4");
}

/* One paid invoice, and what is kept and told of its amount. */
static void expect_amount(
    const char *id, const char *amount, const char *currency, const char *want)
{
	char *object =
	    text_format("{\"id\":\"in_%s\",\"subscription\":\"sub_%s\",\"amount_paid\":%s,"
			"\"currency\":\"%s\"}",
		id, id, amount, currency);

	CHECK_INT(post(id, "invoice.paid", object, ""), 200);
	expect_text(want,
	    "SELECT amount_minor || ' ' || currency FROM intake.purchase"
	    " WHERE last_notification_id = '%s'",
	    id);
	expect_text(want,
	    "SELECT (data ->> 'amount_minor') || ' ' || (data ->> 'currency')"
	    " FROM intake.outbox WHERE message_id = '%s'",
	    id);
	free(object);
}

static void b25_amounts_are_what_they_were(void)
{
	expect_amount("evt_b25_1", "500", "jpy", "500 JPY");
	expect_amount("evt_b25_2", "500", "usd", "500 USD");
	expect_amount("evt_b25_3", "5000", "kwd", "5000 KWD");
	expect_amount("evt_b25_4", "500", "JPY", "500 JPY");
	expect_amount("evt_b25_5", "9007199254740993", "usd", "9007199254740993 USD");
	expect_amount("evt_b25_6", "-500", "usd", "-500 USD");
}

/* livemode: a member with a comma before it, or "". */
static void post_mode(const char *id, const char *livemode, const char *secret, int status)
{
	char *body = text_format(
	    "{\"id\":\"%s\",\"type\":\"customer.subscription.created\","
	    "\"created\":1767225600,\"data\":{\"object\":" SUBSCRIPTION("sub_b26", "") "}%s}",
	    id, livemode);

	CHECK_INT(post_signed(secret, body, strlen(body)), status);
	free(body);
}

static void b26_a_test_is_no_purchase(void)
{
	post_mode("evt_b26_1", ",\"livemode\":false", SIGNER_STRIPE_TEST_SECRET, 200);
	post_mode("evt_b26_2", "", SIGNER_STRIPE_TEST_SECRET, 200);
	post_mode("evt_b26_3", ",\"livemode\":\"true\"", SIGNER_STRIPE_TEST_SECRET, 200);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification AS n"
				   " JOIN intake.outbox AS o ON o.message_id = n.notification_id"
				   " AND o.source = n.store WHERE n.notification_id ~ '^evt_b26'"
				   " AND n.store = 'stripe_test'"),
	    3);
	/* A test secret does not make anything live. */
	post_mode("evt_b26_4", ",\"livemode\":true", SIGNER_STRIPE_TEST_SECRET, 400);
	CHECK_INT(stage_rows(world, "^evt_b26_4"), 0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.purchase WHERE store = 'stripe'"
				   " AND store_purchase_id = 'sub_b26'"),
	    0);
}

static void b27_what_two_parsers_read_differently(void)
{
	static const char twice[] = "{\"id\":\"evt_b27_A\",\"id\":\"evt_b27_B\",\"livemode\":true}";
	const size_t depth = 200000;
	char *deep = malloc(depth);
	int64_t kept = world_int(world, "SELECT count(*) FROM intake.notification"
					" WHERE notification_id LIKE 'sha256:%%'");

	memset(deep, '[', depth);
	CHECK_INT(post_signed(SIGNER_STRIPE_SECRET, deep, depth), 200);
	CHECK_INT(post_live(twice), 200);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification WHERE kind ="
				   " 'unrecognized' AND notification_id LIKE 'sha256:%%'"),
	    kept + 2);
	CHECK_INT(stage_rows(world, "^evt_b27"), 0);
	CHECK_INT(deliver(proc_url(producer), "evt_b27", "sub_b27", NULL), 200);
	CHECK_INT(stage_rows(world, "^evt_b27$"), 3);
	free(deep);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B24 the shape follows the API version", b24_the_shape_follows_the_api_version},
	    {"B25 amounts are what they were", b25_amounts_are_what_they_were},
	    {"B26 a test is no purchase", b26_a_test_is_no_purchase},
	    {"B27 what two parsers read differently", b27_what_two_parsers_read_differently},
	    {NULL, NULL},
	};
	int status;

	world = world_open(2);
	producer = stage_producer(world, NULL);
	status = check_main("producer rows stripe", checks, argc, argv);
	world_close(world);
	return status;
}
