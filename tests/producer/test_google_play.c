#include "producer/google_play.h"
#include "tests/producer/google_keys.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/test_jws.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW_S INT64_C(1767225600)
#define PACKAGE "com.ex"
#define RENEWED                                                                                    \
	"{\"packageName\":\"com.ex\",\"eventTimeMillis\":\"1767225600123\","                       \
	"\"subscriptionNotification\":{\"notificationType\":2,\"purchaseToken\":\"tok1\"}}"
/* SHA-256 of "tok1", its first 32 digits. */
#define TOK1 "80b3ad2d438bfafa1ea690c5a59f5454"

static char ours[] = PACKAGE;
static char *packages[] = {ours};
static struct google_play *store, *store_of_ours;
static struct jwks *keys;
static char *authorization;

/* One store for all checks, and one that has --google-package. */
static void open_stores(void)
{
	struct google_play_config config = {.rules = {"https://example.com", "push@example.com"}};
	char *path = text_format("%s/umavez-play-%d.json", temp_root(), (int)getpid());
	char *set = test_jwks("k1", test_rsa_key(), NULL);
	struct jwks_config keys_config = {.file = path, .cooldown_ms = 3600000};
	struct err err = ERR_INIT;
	char *token =
	    test_rsa_token(test_rsa_key(), EVP_sha256(), "{\"alg\":\"RS256\",\"kid\":\"k1\"}",
		"{\"iss\":\"accounts.google.com\",\"aud\":\"https://example.com\","
		"\"email\":\"push@example.com\",\"email_verified\":true,"
		"\"iat\":1767225600,\"exp\":1767229200}");

	file_write(path, set);
	authorization = text_format("Bearer %s", token);
	if (jwks_open(&keys_config, NULL, &keys, &err) < 0)
		die("%s", err.message);
	config.keys = keys;
	if (google_play_new(&config, &store, &err) < 0)
		die("%s", err.message);
	config.packages = (struct option_list){1, packages};
	if (google_play_new(&config, &store_of_ours, &err) < 0)
		die("%s", err.message);
	unlink(path);
	free(path);
	free(set);
	free(token);
}

static void close_stores(void)
{
	google_play_free(store);
	google_play_free(store_of_ours);
	jwks_close(keys);
	free(authorization);
}

static struct notification *read_hook(struct google_play *g, struct webhook hook)
{
	struct notification *n = NULL;
	struct refusal refusal = {0};

	hook.authorization = authorization;
	hook.now_ms = NOW_S * 1000;
	CHECK_INT(google_play_read(g, &hook, &n, &refusal), VERDICT_AUTHENTIC);
	if (!n)
		die("authentic, but no notification");
	CHECK_STR(n->store, "google_play");
	return n;
}

static struct notification *read_body(const char *body)
{
	return read_hook(store, (struct webhook){.body = body, .len = strlen(body)});
}

/* As message 42, wrapped. */
static struct notification *read_rtdn(const char *rtdn)
{
	char *data = test_base64(rtdn, strlen(rtdn));
	char *body = text_format("{\"message\":{\"data\":\"%s\",\"messageId\":\"42\"},"
				 "\"subscription\":\"s\"}",
	    data);
	struct notification *n = read_body(body);

	free(data);
	free(body);
	return n;
}

static void expect_kept(struct notification *n, const char *id)
{
	CHECK_INT(n->kind, KIND_UNRECOGNIZED);
	if (id)
		CHECK_STR(n->notification_id, id);
	else
		CHECK(strncmp(n->notification_id, "sha256:", 7) == 0);
	CHECK(n->store_purchase_id == NULL);
	CHECK(n->remark != NULL);
	notification_free(n);
}

static void expect_good(struct notification *n, const char *id)
{
	CHECK_STR(kind_name(n->kind), "renewed");
	CHECK_STR(n->notification_id, id);
	CHECK_STR(n->store_purchase_id, "tok1");
	notification_free(n);
}

/* B11: identity is the token, whatever else is there. */
static void test_token_is_identity(void)
{
	struct notification *n = read_rtdn(RENEWED);

	CHECK_STR(kind_name(n->kind), "renewed");
	CHECK_STR(n->native_type, "subscriptionNotification/2");
	CHECK_STR(n->notification_id, "com.ex/42");
	CHECK_STR(n->store_purchase_id, "tok1");
	CHECK_STR(n->product_id, NULL);
	CHECK_INT(n->state, STATE_ACTIVE);
	CHECK_INT(n->will_renew, RENEW_YES);
	CHECK_INT(n->occurred_at, INT64_C(1767225600123));
	CHECK_STR(n->transaction_id, TOK1 ".subscription.2@1767225600123");
	notification_free(n);

	n = read_rtdn("{\"packageName\":\"com.ex\",\"eventTimeMillis\":1767225700000,"
		      "\"voidedPurchaseNotification\":{\"purchaseToken\":\"tok1\","
		      "\"orderId\":\"GPA.1\",\"productType\":1,\"refundType\":1}}");
	CHECK_STR(kind_name(n->kind), "refunded");
	CHECK_STR(n->store_purchase_id, "tok1");
	CHECK_STR(n->transaction_id, "GPA.1");
	CHECK_INT(n->state, STATE_REFUNDED);
	CHECK_INT(n->current_only, false);
	CHECK_INT(n->partial, false);
	notification_free(n);
}

static void expect_type(const char *member, int type, const char *kind, enum state state,
    enum will_renew will_renew, bool partial)
{
	bool voided = strcmp(member, "voidedPurchaseNotification") == 0;
	char *rtdn = text_format("{\"packageName\":\"com.ex\",\"eventTimeMillis\":\"1\",\"%s\":"
				 "{\"%s\":%d,\"purchaseToken\":\"tok1\",\"orderId\":\"GPA.1\"}}",
	    member, voided ? "refundType" : "notificationType", type);
	struct notification *n = read_rtdn(rtdn);

	CHECK_STR(kind_name(n->kind), kind);
	CHECK_STR(n->store_purchase_id, "tok1");
	CHECK_INT(n->state, state);
	CHECK_INT(n->will_renew, will_renew);
	CHECK_INT(n->partial, partial);
	notification_free(n);
	free(rtdn);
}

static void test_subscription_types(void)
{
	static const struct {
		int type;
		const char *kind;
		enum state state;
		enum will_renew will_renew;
	} table[] = {
	    {1, "recovered", STATE_ACTIVE, RENEW_YES},
	    {2, "renewed", STATE_ACTIVE, RENEW_YES},
	    {3, "canceled", STATE_SAME, RENEW_NO},
	    {4, "started", STATE_ACTIVE, RENEW_YES},
	    {5, "on_hold", STATE_ON_HOLD, RENEW_SAME},
	    {6, "grace_started", STATE_GRACE, RENEW_SAME},
	    {7, "uncanceled", STATE_ACTIVE, RENEW_YES},
	    {8, "noted", STATE_SAME, RENEW_SAME},
	    {9, "extended", STATE_ACTIVE, RENEW_SAME},
	    {10, "paused", STATE_PAUSED, RENEW_SAME},
	    {11, "noted", STATE_SAME, RENEW_SAME},
	    {12, "revoked", STATE_REVOKED, RENEW_NO},
	    {13, "expired", STATE_EXPIRED, RENEW_NO},
	    {17, "changed", STATE_SAME, RENEW_SAME},
	    {18, "canceled", STATE_SAME, RENEW_NO},
	    {19, "noted", STATE_SAME, RENEW_SAME},
	    {20, "pending_canceled", STATE_VOID, RENEW_NO},
	    {22, "noted", STATE_SAME, RENEW_SAME},
	    {0, "noted", STATE_SAME, RENEW_SAME},
	    {999, "noted", STATE_SAME, RENEW_SAME},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		expect_type("subscriptionNotification", table[i].type, table[i].kind,
		    table[i].state, table[i].will_renew, false);
}

static void test_other_types(void)
{
	static const char one_time[] = "oneTimeProductNotification";
	static const char voided[] = "voidedPurchaseNotification";

	expect_type(one_time, 1, "started", STATE_ACTIVE, RENEW_SAME, false);
	expect_type(one_time, 2, "pending_canceled", STATE_VOID, RENEW_SAME, false);
	expect_type(one_time, 3, "noted", STATE_SAME, RENEW_SAME, false);
	expect_type(voided, 1, "refunded", STATE_REFUNDED, RENEW_SAME, false);
	expect_type(voided, 2, "refunded", STATE_SAME, RENEW_SAME, true);
	expect_type(voided, 3, "noted", STATE_SAME, RENEW_SAME, false);
}

static void test_without_purchase(void)
{
	struct notification *n =
	    read_rtdn("{\"packageName\":\"com.ex\",\"eventTimeMillis\":\"5\","
		      "\"pendingRefundReviewNotification\":{\"pendingRefundToken\":\"x\"}}");

	CHECK_STR(kind_name(n->kind), "noted");
	CHECK_STR(n->native_type, "pendingRefundReviewNotification");
	CHECK(n->store_purchase_id == NULL);
	CHECK_INT(n->occurred_at, 5);
	notification_free(n);

	n = read_rtdn("{\"testNotification\":{\"version\":\"1.0\"}}");
	CHECK_STR(kind_name(n->kind), "test");
	CHECK_STR(n->notification_id, "/42");
	CHECK_INT(n->occurred_at, NOW_S * 1000);
	notification_free(n);
}

/* B16: a cancel of a purchase that nobody has seen. */
static void test_unseen_cancel(void)
{
	struct notification *n =
	    read_rtdn("{\"packageName\":\"com.ex\",\"eventTimeMillis\":\"1767225600000\","
		      "\"oneTimeProductNotification\":{\"notificationType\":2,"
		      "\"purchaseToken\":\"tokC\",\"sku\":\"gems\"}}");

	CHECK_STR(kind_name(n->kind), "pending_canceled");
	CHECK_STR(n->store_purchase_id, "tokC");
	CHECK_STR(n->product_id, "gems");
	CHECK_INT(n->state, STATE_VOID);
	notification_free(n);
}

/* A publisher's duplicate has a message id of its own, but is one transaction. */
static void test_publisher_duplicate(void)
{
	struct notification *a = read_rtdn(RENEWED);
	struct notification *b = read_hook(store,
	    (struct webhook){.body = RENEWED, .len = strlen(RENEWED), .pubsub_message_id = "43"});

	CHECK_STR(b->notification_id, "com.ex/43");
	CHECK_STR(b->transaction_id, a->transaction_id);
	notification_free(a);
	notification_free(b);
}

static void expect_message(const char *message, const char *id, bool good)
{
	char *body = text_format("{\"message\":%s}", message);
	struct notification *n = read_body(body);

	if (good)
		expect_good(n, id);
	else
		expect_kept(n, id);
	free(body);
}

/* B12: base64 as publishers write it. */
static void test_base64_forms(void)
{
	static const char rtdn[] =
	    "{\"packageName\":\"com.ex\",\"eventTimeMillis\":\"1\",\"subscriptionNotification\":"
	    "{\"notificationType\":2,\"purchaseToken\":\"tok1\",\"subscriptionId\":\"~~~???\"}} ";
	char *standard = test_base64(rtdn, strlen(rtdn));
	char *url = test_base64url(rtdn, strlen(rtdn));
	char *unpadded = strdup(standard);
	char *padded_url = text_format("%s%s", url, standard + strlen(url));
	char *const forms[] = {standard, url, unpadded, padded_url};

	CHECK(strchr(standard, '+') && strchr(standard, '/') && strchr(standard, '='));
	unpadded[strcspn(unpadded, "=")] = '\0';
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char *message = text_format("{\"data\":\"%s\",\"messageId\":\"42\"}", forms[i]);

		expect_message(message, "com.ex/42", true);
		free(message);
	}
	free(standard);
	free(url);
	free(unpadded);
	free(padded_url);
}

static void expect_data(const char *data, const char *id)
{
	char *encoded = test_base64(data, strlen(data));
	char *message = text_format("{\"data\":\"%s\",\"messageId\":\"42\"}", encoded);

	expect_message(message, id, false);
	free(encoded);
	free(message);
}

/* B12: authentic and unusable is kept. */
static void test_unusable_data(void)
{
	expect_message("{\"data\":\"%%%\",\"messageId\":\"42\"}", "/42", false);
	expect_message("{\"data\":\"\",\"messageId\":\"42\"}", "/42", false);
	expect_message("{\"data\":7,\"messageId\":\"42\"}", "/42", false);
	expect_message("{\"attributes\":{\"a\":\"b\"},\"messageId\":\"42\"}", "/42", false);
	expect_data("null", "/42");
	expect_data("[]", "/42");
	expect_data("{}", "/42");
	expect_data("{\"packageName\":\"com.ex\",\"eventTimeMillis\":\"1\"}", "com.ex/42");
	expect_data("{\"packageName\":\"com.ex\",\"x\":99999999999999999999}", "com.ex/42");
	expect_data("{\"packageName\":\"com.ex\",\"x\":1,\"x\":2}", "com.ex/42");
	expect_data("{\"packageName\":\"com.ex\",\"x\":\"\xff\"}", "com.ex/42");
}

#define TIME "\"packageName\":\"com.ex\",\"eventTimeMillis\":\"1\","

static void test_incomplete_notices(void)
{
	expect_data("{" TIME "\"subscriptionNotification\":{\"notificationType\":2}}", "com.ex/42");
	expect_data(
	    "{" TIME "\"subscriptionNotification\":{\"purchaseToken\":\"t\"}}", "com.ex/42");
	expect_data("{" TIME "\"subscriptionNotification\":{\"notificationType\":\"2\","
		    "\"purchaseToken\":\"t\"}}",
	    "com.ex/42");
	expect_data("{" TIME "\"subscriptionNotification\":null}", "com.ex/42");
	expect_data("{" TIME "\"subscriptionNotification\":{\"notificationType\":2,"
		    "\"purchaseToken\":\"t\"},\"testNotification\":{}}",
	    "com.ex/42");
	expect_data("{\"eventTimeMillis\":\"1\",\"subscriptionNotification\":{"
		    "\"notificationType\":2,\"purchaseToken\":\"t\"}}",
	    "/42");
}

static void expect_time(const char *time, int64_t expected)
{
	char *rtdn = text_format("{\"packageName\":\"com.ex\"%s,\"subscriptionNotification\":"
				 "{\"notificationType\":2,\"purchaseToken\":\"t\"}}",
	    time);
	struct notification *n = read_rtdn(rtdn);

	CHECK_INT(n->kind == KIND_UNRECOGNIZED, expected < 0);
	CHECK_INT(n->occurred_at, expected < 0 ? NOW_S * 1000 : expected);
	CHECK_STR(n->notification_id, "com.ex/42");
	notification_free(n);
	free(rtdn);
}

/* B07: the exact millisecond, or none. */
static void test_times(void)
{
	expect_time(",\"eventTimeMillis\":\"1767225600123\"", INT64_C(1767225600123));
	expect_time(",\"eventTimeMillis\":1767225600123", INT64_C(1767225600123));
	expect_time(",\"eventTimeMillis\":0", 0);
	expect_time("", -1);
	expect_time(",\"eventTimeMillis\":null", -1);
	expect_time(",\"eventTimeMillis\":\"x\"", -1);
	expect_time(",\"eventTimeMillis\":99999999999999999999", -1);
	expect_time(",\"eventTimeMillis\":\"99999999999999999999\"", -1);
	expect_time(",\"eventTimeMillis\":\"253402300800000\"", -1);
	expect_time(",\"eventTimeMillis\":-1", -1);
}

static void expect_ids(const char *ids, const char *id)
{
	char *data = test_base64(RENEWED, strlen(RENEWED));
	char *message = text_format("{\"data\":\"%s\"%s}", data, ids);

	expect_message(message, id, id != NULL);
	free(data);
	free(message);
}

/* B13: two spellings of one id. */
static void test_message_ids(void)
{
	expect_ids(",\"messageId\":\"42\"", "com.ex/42");
	expect_ids(",\"message_id\":\"42\"", "com.ex/42");
	expect_ids(",\"messageId\":\"42\",\"message_id\":\"42\"", "com.ex/42");
	expect_ids(",\"messageId\":\"42\",\"message_id\":\"43\"", NULL);
	expect_ids(",\"messageId\":\"\"", NULL);
	expect_ids(",\"messageId\":42", NULL);
	expect_ids("", NULL);
}

static void test_unwrapped(void)
{
	struct webhook hook = {.body = RENEWED, .len = strlen(RENEWED), .pubsub_message_id = "42"};
	struct notification *n = NULL;
	struct refusal refusal = {0};

	expect_good(read_hook(store, hook), "com.ex/42");
	hook.body = "\xff";
	hook.len = 1;
	expect_kept(read_hook(store, hook), "/42");

	/* Without metadata there is no id, and two deliveries could not be told from two messages.
	 */
	hook = (struct webhook){.body = RENEWED,
	    .len = strlen(RENEWED),
	    .authorization = authorization,
	    .now_ms = NOW_S * 1000};
	CHECK_INT(google_play_read(store, &hook, &n, &refusal), VERDICT_MALFORMED);
	CHECK_STR(refusal.reason, "no_message_id");
	CHECK(n == NULL);
}

/* P12: authentic, but not even an envelope. */
static void test_no_envelope(void)
{
	const size_t depth = 200000;
	char *deep = malloc(depth);

	memset(deep, '[', depth);
	expect_kept(read_hook(store, (struct webhook){.body = deep, .len = depth}), NULL);
	free(deep);
	expect_kept(read_body(""), NULL);
	expect_kept(read_body("[]"), NULL);
	expect_kept(read_body("{}"), NULL);
	expect_kept(read_body("{\"message\":null}"), NULL);
	expect_kept(read_body("{\"message\":{\"messageId\":\"42\",\"a\":1,\"a\":2}}"), "/42");
	expect_kept(read_body("{\"x\":\"\xff\",\"message\":{\"message_id\":\"42\"}}"), "/42");
}

static void test_packages(void)
{
	struct webhook hook = {.body = RENEWED, .len = strlen(RENEWED), .pubsub_message_id = "42"};
	static const char other[] =
	    "{\"packageName\":\"com.other\",\"eventTimeMillis\":\"1\",\"subscriptionNotification\":"
	    "{\"notificationType\":2,\"purchaseToken\":\"tok1\"}}";

	expect_good(read_hook(store_of_ours, hook), "com.ex/42");
	hook.body = other;
	hook.len = strlen(other);
	expect_good(read_hook(store, hook), "com.other/42");
	expect_kept(read_hook(store_of_ours, hook), "com.other/42");
}

static void test_not_authentic(void)
{
	struct webhook hook = {.body = RENEWED,
	    .len = strlen(RENEWED),
	    .pubsub_message_id = "42",
	    .now_ms = NOW_S * 1000};
	struct notification *n = NULL;
	struct refusal refusal = {0};

	CHECK_INT(google_play_read(store, &hook, &n, &refusal), VERDICT_FORGED);
	CHECK_STR(refusal.reason, "missing_token");
	hook.authorization = authorization;
	hook.now_ms += INT64_C(3661000);
	CHECK_INT(google_play_read(store, &hook, &n, &refusal), VERDICT_FORGED);
	CHECK_STR(refusal.reason, "bad_claims");
	CHECK(n == NULL);
}

static void expect_bad_config(const char *audience, const char *account, const char *option)
{
	struct google_play_config config = {.rules = {audience, account}, .keys = keys};
	struct err err = ERR_INIT;
	struct google_play *g = NULL;

	CHECK_INT(google_play_new(&config, &g, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK(strstr(err.message, option) != NULL);
}

static void test_config(void)
{
	expect_bad_config(NULL, "push@example.com", "--google-audience");
	expect_bad_config("", "push@example.com", "--google-audience");
	expect_bad_config("https://example.com", NULL, "--google-push-account");
}

static void expect_sample(
    const char *file, const char *kind, const char *id, const char *purchase, const char *product)
{
	char *rtdn = google_vector(file);
	struct notification *n = read_rtdn(rtdn);

	CHECK_STR(kind_name(n->kind), kind);
	CHECK_STR(n->notification_id, id);
	CHECK_STR(n->store_purchase_id, purchase);
	CHECK_STR(n->product_id, product);
	notification_free(n);
	free(rtdn);
}

static void test_samples(void)
{
	static const char token[] =
	    "nadifbpekffdcbcodgpkckac.AO-J1OzLgSFPIaDJeJMQxvvHbpLy9KgwXlurB95RPH4qYtf1Jgs"
	    "WPw4uxnidaIfxbkyuiL5NgvnuU7LJo723xz_UTaPFWsF2dA";

	expect_sample("doc_samples/one-time-purchased.json", "started", "com.some.thing/42",
	    "PURCHASE_TOKEN", "my.sku");
	expect_sample("doc_samples/subscription-purchased.json", "started", "com.some.thing/42",
	    "PURCHASE_TOKEN", NULL);
	expect_sample("doc_samples/test.json", "test", "com.some.thing/42", NULL, NULL);
	expect_sample(
	    "doc_samples/voided.json", "refunded", "com.some.app/42", "PURCHASE_TOKEN", NULL);
	expect_sample("other/imdhemy-laravel-expired.json", "expired", "com.twigano.fashion/42",
	    token, "month_premium");
	expect_sample("other/imdhemy-one-time.json", "started", "com.some.thing/42",
	    "fake_purchase_token", "fake_sku");
	expect_sample("other/imdhemy-subscription-recovered.json", "recovered", "com.some.thing/42",
	    "fake_purchase_token", "yearly");
	expect_sample("other/imdhemy-test.json", "test", "com.some.thing/42", NULL, NULL);
}

static struct notification *read_push(const char *file)
{
	char *body = google_vector(file);
	struct notification *n = read_body(body);

	free(body);
	return n;
}

/* Google's own samples of pushes carry data that is no JSON. */
static void test_push_samples(void)
{
	char *data = google_vector("other/imdhemy-laravel-expired.b64");
	char *body = text_format("{\"message\":{\"data\":\"%s\",\"message_id\":\"7\"}}", data);
	struct notification *n = read_body(body);

	CHECK_STR(kind_name(n->kind), "expired");
	CHECK_STR(n->notification_id, "com.twigano.fashion/7");
	notification_free(n);
	free(body);
	free(data);

	expect_kept(read_push("doc_samples/pubsub-push-max.json"), "/2070443601311540");
	expect_kept(read_push("doc_samples/pubsub-push-min.json"), "/2070443601311540");
	expect_kept(read_push("doc_samples/rtdn-push-data-not-json.json"), "/136969346945");
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B11 the token is the identity", test_token_is_identity},
	    {"subscription types", test_subscription_types},
	    {"one-time and voided types", test_other_types},
	    {"what has no purchase", test_without_purchase},
	    {"B16 a cancel of an unseen token", test_unseen_cancel},
	    {"a publisher's duplicate is one transaction", test_publisher_duplicate},
	    {"B12 base64 forms", test_base64_forms},
	    {"B12 unusable data is kept", test_unusable_data},
	    {"B12 incomplete notices are kept", test_incomplete_notices},
	    {"B07 times", test_times},
	    {"B13 message ids", test_message_ids},
	    {"unwrapped pushes", test_unwrapped},
	    {"P12 no envelope", test_no_envelope},
	    {"packages", test_packages},
	    {"what is not authentic is refused", test_not_authentic},
	    {"no push without authentication", test_config},
	    {"samples of notices", test_samples},
	    {"samples of pushes", test_push_samples},
	    {NULL, NULL},
	};
	int status;

	open_stores();
	status = check_main("producer google_play", checks, argc, argv);
	close_stores();
	return status;
}
