/* What Google's pushes become in the database, through a running producer. */
#include "tests/producer/google_keys.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/signer.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT "{\"packageName\":\"" SIGNER_PACKAGE "\",\"eventTimeMillis\":\"1767225600123\","
#define SUBSCRIPTION(type, token)                                                                  \
	EVENT "\"subscriptionNotification\":{\"notificationType\":" type                           \
	      ",\"purchaseToken\":\"" token "\"}}"

static struct world *world;
static struct proc *producer;

/* Frees body. */
static int post_body(char *body)
{
	int status = post_google(world_signer(world), proc_url(producer), body, NULL);

	free(body);
	return status;
}

/* members: of the message, in JSON. */
static int post_message(const char *members)
{
	return post_body(text_format("{\"message\":{%s},\"subscription\":\"s\"}", members));
}

static int post(const char *message_id, const char *rtdn)
{
	return post_body(google_body(message_id, rtdn));
}

/* Text about the only purchase of this token. */
static void expect_purchase(const char *token, const char *want)
{
	char *text = world_text(world,
	    "SELECT coalesce(product_id, 'none') || ' ' || state FROM intake.purchase"
	    " WHERE store = 'google_play' AND store_purchase_id = '%s'",
	    token);

	CHECK_STR(text, want);
	free(text);
}

static void b11_a_void_finds_its_purchase(void)
{
	CHECK_INT(post("b11-1", SUBSCRIPTION("2", "b11")), 200);
	expect_purchase("b11", "none active");
	CHECK_INT(post("b11-2", "{\"packageName\":\"" SIGNER_PACKAGE
				"\",\"eventTimeMillis\":\"1767225700000\","
				"\"voidedPurchaseNotification\":{\"purchaseToken\":\"b11\","
				"\"orderId\":\"GPA.1\",\"productType\":1,\"refundType\":1}}"),
	    200);
	expect_purchase("b11", "none refunded");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox WHERE"
				   " subject = 'google_play/b11'"),
	    2);
}

static void expect_kind(const char *id, const char *kind)
{
	char *found = world_text(world,
	    "SELECT string_agg(kind, ' ') FROM intake.notification WHERE notification_id LIKE "
	    "'%%/%s'",
	    id);

	CHECK_STR(found, kind);
	free(found);
}

/* base64 in whatever way, as message `id`. */
static void post_data(char *data, const char *id, const char *kind)
{
	char *members = text_format("\"data\":\"%s\",\"messageId\":\"%s\"", data, id);

	CHECK_INT(post_message(members), 200);
	expect_kind(id, kind);
	free(members);
	free(data);
}

static void b12_what_is_unusable_is_acknowledged_and_kept(void)
{
	static const char good[] = SUBSCRIPTION("2", "b12~~???");
	char *unpadded = test_base64(good, strlen(good));

	unpadded[strcspn(unpadded, "=")] = '\0';
	post_data(test_base64url(good, strlen(good)), "b12-1", "renewed");
	post_data(unpadded, "b12-2", "renewed");
	post_data(strdup("%%%"), "b12-3", "unrecognized");
	post_data(strdup(""), "b12-4", "unrecognized");
	post_data(test_base64("null", 4), "b12-5", "unrecognized");
	post_data(test_base64("[]", 2), "b12-6", "unrecognized");
	CHECK_INT(post_message("\"attributes\":{\"a\":\"b\"},\"messageId\":\"b12-7\""), 200);
	expect_kind("b12-7", "unrecognized");
	CHECK_INT(post("b12-8", "{\"testNotification\":{\"version\":\"1.0\"}}"), 200);
	expect_kind("b12-8", "test");
	CHECK_INT(post("b12-9", SUBSCRIPTION("999", "b12")), 200);
	expect_kind("b12-9", "noted");
	CHECK_INT(post("b12-10", EVENT "\"testNotification\":{},\"subscriptionNotification\":{"
				       "\"notificationType\":2,\"purchaseToken\":\"b12\"}}"),
	    200);
	expect_kind("b12-10", "unrecognized");
	/* Quarantined ones tell nobody anything yet, and keep their bytes. */
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox AS o JOIN"
				   " intake.notification AS n"
				   " ON (n.store, n.notification_id) = (o.source, o.message_id)"
				   " WHERE n.kind = 'unrecognized'"),
	    0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"
				   " WHERE kind = 'unrecognized' AND body IS NULL"),
	    0);
}

static void post_ids(const char *ids, int status)
{
	static const char good[] = SUBSCRIPTION("2", "b13");
	char *data = test_base64(good, strlen(good));
	char *members = text_format("\"data\":\"%s\",%s", data, ids);

	CHECK_INT(post_message(members), status);
	free(members);
	free(data);
}

static void b13_one_key_however_it_is_spelt(void)
{
	post_ids("\"messageId\":\"b13\"", 200);
	post_ids("\"messageId\":\"b13\"", 200);
	post_ids("\"message_id\":\"b13\"", 200);
	post_ids("\"messageId\":\"b13\",\"message_id\":\"b13\"", 200);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"
				   " WHERE notification_id LIKE '%%/b13'"),
	    1);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.purchase"
				   " WHERE store_purchase_id = 'b13' AND version = 1"),
	    1);
	post_ids("\"messageId\":\"b13\",\"message_id\":\"b13-other\"", 200);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification WHERE"
				   " notification_id LIKE 'sha256:%%' AND kind = 'unrecognized'"),
	    1);
}

static int push_with_key(const char *kid)
{
	char *header = text_format("{\"alg\":\"RS256\",\"kid\":\"%s\"}", kid);
	char *token = google_jwt(world_signer(world), header, "{}");
	char *authorization = text_format("Authorization: Bearer %s", token);
	char *url = text_format("%s/webhooks/google-play", proc_url(producer));
	struct http_answer answer;
	int status;

	http_request(
	    "POST", url, (const char *const[]){authorization, NULL}, "{}", 2, 10000, &answer);
	status = answer.status;
	http_answer_done(&answer);
	free(header);
	free(token);
	free(authorization);
	free(url);
	return status;
}

/* It starts with another key than the one that signs; unknown ones come all the time. */
static void b15_keys_are_changed_without_a_restart(void)
{
	const char *path = signer_jwks_path(world_signer(world));
	char *ours = file_read(path, NULL), *others = test_jwks("k1", test_rsa_key(), NULL);
	struct proc *before = producer;

	file_write(path, others);
	producer = stage_producer(world, NULL);
	file_write(path, ours);
	CHECK_INT(post("b15-1", SUBSCRIPTION("2", "b15")), 200);
	for (int i = 0; i < 300; i++) {
		char kid[16];

		snprintf(kid, sizeof(kid), "random%d", i);
		CHECK_INT(push_with_key(kid), 401);
	}
	CHECK_INT(post("b15-2", SUBSCRIPTION("2", "b15")), 200);
	CHECK_INT(stage_rows(world, "/b15-"), 5);
	stage_end(producer);
	producer = before;
	free(ours);
	free(others);
}

static void b16_one_purchase_a_token(void)
{
	CHECK_INT(post("b16-1", SUBSCRIPTION("4", "b16-a")), 200);
	CHECK_INT(post("b16-2", SUBSCRIPTION("4", "b16-b")), 200);
	CHECK_INT(post("b16-3", EVENT "\"oneTimeProductNotification\":{\"notificationType\":2,"
				      "\"purchaseToken\":\"b16-c\",\"sku\":\"gems\"}}"),
	    200);
	expect_purchase("b16-a", "none active");
	expect_purchase("b16-b", "none active");
	expect_purchase("b16-c", "gems void");
	/* A changed plan's old token ends by a notice of its own. */
	CHECK_INT(post("b16-4", "{\"packageName\":\"" SIGNER_PACKAGE
				"\",\"eventTimeMillis\":\"1767225605000\","
				"\"subscriptionNotification\":{\"notificationType\":13,"
				"\"purchaseToken\":\"b16-a\"}}"),
	    200);
	expect_purchase("b16-a", "none expired");
	world_sql(world, "SELECT effects.apply_purchase(json_build_object('source', source, 'id',"
			 " message_id, 'data', data)) FROM (SELECT * FROM intake.outbox"
			 " WHERE message_id LIKE '%%/b16-%%' ORDER BY id) AS o");
	CHECK_INT(world_int(world, "SELECT count(*) FROM effects.entitlement WHERE state = 'active'"
				   " AND store_purchase_id LIKE 'b16-%%'"),
	    1);
	CHECK_INT(world_int(world, "SELECT count(*) FROM effects.ledger WHERE message_id LIKE"
				   " '%%/b16-3'"),
	    0);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B11 a void finds its purchase", b11_a_void_finds_its_purchase},
	    {"B12 what is unusable is acknowledged and kept",
		b12_what_is_unusable_is_acknowledged_and_kept},
	    {"B13 one key, however it is spelt", b13_one_key_however_it_is_spelt},
	    {"B16 one purchase a token", b16_one_purchase_a_token},
	    /* Of a producer of its own, which one that fails leaves behind. */
	    {"B15 keys are changed without a restart", b15_keys_are_changed_without_a_restart},
	    {NULL, NULL},
	};
	int status;

	world = world_open(2);
	producer = stage_producer(world, NULL);
	status = check_main("producer rows google_play", checks, argc, argv);
	world_close(world);
	return status;
}
