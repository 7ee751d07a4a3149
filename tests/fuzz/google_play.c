/* The body of a push with a good token: as an envelope, as a notice, and as a notice that we wrap.
 */
#include "producer/google_play.h"
#include "producer/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/files.h"
#include "tests/support/signer.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#define NOW_S INT64_C(1767225600)

struct fixture {
	struct google_play *google;
	char *authorization;
};

static const struct fixture *open_fixture(void)
{
	static struct fixture f;
	static char package[] = SIGNER_PACKAGE, *packages[] = {package};
	struct google_play_config config = {
	    .rules = {SIGNER_AUDIENCE, SIGNER_PUSH_ACCOUNT}, .packages = {1, packages}};
	struct jwks_config keys = {.cooldown_ms = INT64_C(1) << 40};
	char dir[] = "/tmp/fuzz.XXXXXX";
	struct signer *signer;
	struct err err;

	if (f.google)
		return &f;
	fuzz_fix_random();
	signer = signer_new();
	FUZZ_CHECK(mkdtemp(dir));
	signer_write(signer, dir);
	keys.file = signer_jwks_path(signer);
	FUZZ_CHECK(jwks_open(&keys, NULL, &config.keys, &err) == 0);
	FUZZ_CHECK(google_play_new(&config, &f.google, &err) == 0);
	f.authorization = google_token(signer, NOW_S);
	tree_remove(dir);
	signer_free(signer);
	return &f;
}

/* NULL only for what is bare and has no id. */
static struct notification *read_push(struct fuzz_piece body, const char *message_id)
{
	const struct fixture *f = open_fixture();
	struct webhook hook = {.body = body.at,
	    .len = body.len,
	    .authorization = f->authorization,
	    .pubsub_message_id = message_id,
	    .now_ms = NOW_S * 1000};
	struct notification *n = NULL;
	struct refusal refusal = {NULL, NULL};
	enum verdict verdict = google_play_read(f->google, &hook, &n, &refusal);

	if (verdict == VERDICT_AUTHENTIC)
		fuzz_check_notification(n);
	else
		FUZZ_CHECK(!message_id && verdict == VERDICT_MALFORMED && !n &&
			   strcmp(refusal.reason, "no_message_id") == 0);
	return n;
}

static void check_envelope(struct fuzz_piece body)
{
	struct notification *n = read_push(body, NULL);
	const char *why;
	json_t *json = n ? NULL : json_read(body.at, body.len, &why);

	FUZZ_CHECK(
	    n || (json_get_string(json, "packageName") && !json_get_object(json, "message")));
	json_decref(json);
	notification_free(n);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* How Pub/Sub delivers it is nothing that the notification says. */
static void check_wrapping(struct fuzz_piece body)
{
	char *data = test_base64(body.at, body.len);
	char *envelope = text_format("{\"message\":{\"messageId\":\"7\",\"data\":\"%s\"}}", data);
	struct notification *bare = read_push(body, "7");
	struct notification *wrapped =
	    read_push((struct fuzz_piece){envelope, strlen(envelope)}, NULL);

	FUZZ_CHECK(bare && wrapped);
	FUZZ_CHECK(same_text(bare->notification_id, wrapped->notification_id));
	FUZZ_CHECK(same_text(bare->store_purchase_id, wrapped->store_purchase_id));
	FUZZ_CHECK(same_text(bare->transaction_id, wrapped->transaction_id));
	FUZZ_CHECK(same_text(bare->native_type, wrapped->native_type));
	FUZZ_CHECK(bare->kind == wrapped->kind && bare->state == wrapped->state);
	FUZZ_CHECK(bare->occurred_at == wrapped->occurred_at);
	notification_free(bare);
	notification_free(wrapped);
	free(envelope);
	free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_piece body = {(const char *)data, size};

	check_envelope(body);
	if (size > 0)
		check_wrapping(body);
	return 0;
}
