#include "tests/producer/play.h"

#include "tests/producer/google_keys.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From a file that is gone when it has been read. */
static struct jwks *open_keys(void)
{
	char *path = text_format("%s/umavez-play-%d.json", temp_root(), (int)getpid());
	char *set = test_jwks("k1", test_rsa_key(), NULL);
	struct jwks_config config = {.file = path, .cooldown_ms = 3600000};
	struct err err = ERR_INIT;
	struct jwks *keys = NULL;

	file_write(path, set);
	if (jwks_open(&config, NULL, &keys, &err) < 0)
		die("%s", err.message);
	unlink(path);
	free(path);
	free(set);
	return keys;
}

static char *authorize(void)
{
	char *token =
	    test_rsa_token(test_rsa_key(), EVP_sha256(), "{\"alg\":\"RS256\",\"kid\":\"k1\"}",
		"{\"iss\":\"accounts.google.com\",\"aud\":\"https://example.com\","
		"\"email\":\"push@example.com\",\"email_verified\":true,"
		"\"iat\":1767225600,\"exp\":1767229200}");
	char *authorization = text_format("Bearer %s", token);

	free(token);
	return authorization;
}

static struct google_play *open_store(struct jwks *keys, struct option_list packages)
{
	struct google_play_config config = {.rules = {"https://example.com", "push@example.com"},
	    .keys = keys,
	    .packages = packages};
	struct google_play *store = NULL;
	struct err err = ERR_INIT;

	if (google_play_new(&config, &store, &err) < 0)
		die("%s", err.message);
	return store;
}

struct play *play_open(void)
{
	static char ours[] = PLAY_PACKAGE;
	static char *packages[] = {ours};
	struct play *p = calloc(1, sizeof(*p));

	if (p == NULL)
		die("out of memory");
	p->keys = open_keys();
	p->authorization = authorize();
	p->store = open_store(p->keys, (struct option_list){0});
	p->store_of_ours = open_store(p->keys, (struct option_list){1, packages});
	return p;
}

void play_close(struct play *p)
{
	google_play_free(p->store);
	google_play_free(p->store_of_ours);
	jwks_close(p->keys);
	free(p->authorization);
	free(p);
}

struct notification *play_read(struct play *p, struct google_play *store, struct webhook hook)
{
	struct notification *n = NULL;
	struct refusal refusal = {0};

	hook.authorization = p->authorization;
	hook.now_ms = PLAY_NOW_S * 1000;
	CHECK_INT(google_play_read(store, &hook, &n, &refusal), VERDICT_AUTHENTIC);
	if (!n)
		die("authentic, but no notification");
	CHECK_STR(n->store, "google_play");
	return n;
}

struct notification *play_read_body(struct play *p, const char *body)
{
	return play_read(p, p->store, (struct webhook){.body = body, .len = strlen(body)});
}

struct notification *play_read_notice(struct play *p, const char *notice)
{
	char *data = test_base64(notice, strlen(notice));
	char *body = text_format("{\"message\":{\"data\":\"%s\",\"messageId\":\"42\"},"
				 "\"subscription\":\"s\"}",
	    data);
	struct notification *n = play_read_body(p, body);

	free(data);
	free(body);
	return n;
}

void play_expect_kept(struct notification *n, const char *id)
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

void play_expect_renewed(struct notification *n, const char *id)
{
	CHECK_STR(kind_name(n->kind), "renewed");
	CHECK_STR(n->notification_id, id);
	CHECK_STR(n->store_purchase_id, "tok1");
	notification_free(n);
}
