/* Pushes: who may send them, how they are wrapped, what names them, and what is no notice. */
#include "producer/google_play.h"
#include "tests/producer/google_keys.h"
#include "tests/producer/play.h"
#include "tests/support/check.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

static struct play *play;

/* A publisher's duplicate has a message id of its own, but is one transaction. */
static void test_publisher_duplicate(void)
{
	struct notification *a = play_read_notice(play, PLAY_RENEWED);
	struct notification *b = play_read(play, play->store,
	    (struct webhook){
		.body = PLAY_RENEWED, .len = strlen(PLAY_RENEWED), .pubsub_message_id = "43"});

	CHECK_STR(b->notification_id, "com.ex/43");
	CHECK_STR(b->transaction_id, a->transaction_id);
	notification_free(a);
	notification_free(b);
}

static void expect_message(const char *message, const char *id, bool good)
{
	char *body = text_format("{\"message\":%s}", message);
	struct notification *n = play_read_body(play, body);

	if (good)
		play_expect_renewed(n, id);
	else
		play_expect_kept(n, id);
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
	play_expect_kept(play_read_notice(play, data), id);
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

static void expect_ids(const char *ids, const char *id)
{
	char *data = test_base64(PLAY_RENEWED, strlen(PLAY_RENEWED));
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
	struct webhook hook = {
	    .body = PLAY_RENEWED, .len = strlen(PLAY_RENEWED), .pubsub_message_id = "42"};
	struct notification *n = NULL;
	struct refusal refusal = {0};

	play_expect_renewed(play_read(play, play->store, hook), "com.ex/42");
	hook.body = "\xff";
	hook.len = 1;
	play_expect_kept(play_read(play, play->store, hook), "/42");

	/* Without metadata there is no id, and two deliveries could not be told from two messages.
	 */
	hook = (struct webhook){.body = PLAY_RENEWED,
	    .len = strlen(PLAY_RENEWED),
	    .authorization = play->authorization,
	    .now_ms = PLAY_NOW_S * 1000};
	CHECK_INT(google_play_read(play->store, &hook, &n, &refusal), VERDICT_MALFORMED);
	CHECK_STR(refusal.reason, "no_message_id");
	CHECK(n == NULL);
}

/* P12: authentic, but not even an envelope. */
static void test_no_envelope(void)
{
	const size_t depth = 200000;
	char *deep = malloc(depth);

	memset(deep, '[', depth);
	play_expect_kept(
	    play_read(play, play->store, (struct webhook){.body = deep, .len = depth}), NULL);
	free(deep);
	play_expect_kept(play_read_body(play, ""), NULL);
	play_expect_kept(play_read_body(play, "[]"), NULL);
	play_expect_kept(play_read_body(play, "{}"), NULL);
	play_expect_kept(play_read_body(play, "{\"message\":null}"), NULL);
	play_expect_kept(
	    play_read_body(play, "{\"message\":{\"messageId\":\"42\",\"a\":1,\"a\":2}}"), "/42");
	play_expect_kept(
	    play_read_body(play, "{\"x\":\"\xff\",\"message\":{\"message_id\":\"42\"}}"), "/42");
}

static void test_packages(void)
{
	struct webhook hook = {
	    .body = PLAY_RENEWED, .len = strlen(PLAY_RENEWED), .pubsub_message_id = "42"};
	static const char other[] =
	    "{\"packageName\":\"com.other\",\"eventTimeMillis\":\"1\",\"subscriptionNotification\":"
	    "{\"notificationType\":2,\"purchaseToken\":\"tok1\"}}";

	play_expect_renewed(play_read(play, play->store_of_ours, hook), "com.ex/42");
	hook.body = other;
	hook.len = strlen(other);
	play_expect_renewed(play_read(play, play->store, hook), "com.other/42");
	play_expect_kept(play_read(play, play->store_of_ours, hook), "com.other/42");
}

static void test_not_authentic(void)
{
	struct webhook hook = {.body = PLAY_RENEWED,
	    .len = strlen(PLAY_RENEWED),
	    .pubsub_message_id = "42",
	    .now_ms = PLAY_NOW_S * 1000};
	struct notification *n = NULL;
	struct refusal refusal = {0};

	CHECK_INT(google_play_read(play->store, &hook, &n, &refusal), VERDICT_FORGED);
	CHECK_STR(refusal.reason, "missing_token");
	hook.authorization = play->authorization;
	hook.now_ms += INT64_C(3661000);
	CHECK_INT(google_play_read(play->store, &hook, &n, &refusal), VERDICT_FORGED);
	CHECK_STR(refusal.reason, "bad_claims");
	CHECK(n == NULL);
}

static void expect_bad_config(const char *audience, const char *account, const char *option)
{
	struct google_play_config config = {.rules = {audience, account}, .keys = play->keys};
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

static struct notification *read_push(const char *file)
{
	char *body = google_vector(file);
	struct notification *n = play_read_body(play, body);

	free(body);
	return n;
}

/* Google's own samples of pushes carry data that is no JSON. */
static void test_push_samples(void)
{
	char *data = google_vector("other/imdhemy-laravel-expired.b64");
	char *body = text_format("{\"message\":{\"data\":\"%s\",\"message_id\":\"7\"}}", data);
	struct notification *n = play_read_body(play, body);

	CHECK_STR(kind_name(n->kind), "expired");
	CHECK_STR(n->notification_id, "com.twigano.fashion/7");
	notification_free(n);
	free(body);
	free(data);

	play_expect_kept(read_push("doc_samples/pubsub-push-max.json"), "/2070443601311540");
	play_expect_kept(read_push("doc_samples/pubsub-push-min.json"), "/2070443601311540");
	play_expect_kept(read_push("doc_samples/rtdn-push-data-not-json.json"), "/136969346945");
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a publisher's duplicate is one transaction", test_publisher_duplicate},
	    {"B12 base64 forms", test_base64_forms},
	    {"B12 unusable data is kept", test_unusable_data},
	    {"B13 message ids", test_message_ids},
	    {"unwrapped pushes", test_unwrapped},
	    {"P12 no envelope", test_no_envelope},
	    {"packages", test_packages},
	    {"what is not authentic is refused", test_not_authentic},
	    {"no push without authentication", test_config},
	    {"samples of pushes", test_push_samples},
	    {NULL, NULL},
	};
	int status;

	play = play_open();
	status = check_main("producer google_play", checks, argc, argv);
	play_close(play);
	return status;
}
