#include "tests/producer/apple_fixture.h"

#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct apple apple;

void apple_open(void)
{
	apple.ca = test_ca_new(NULL);
	apple.root_path = text_format("%s/umavez-test-apple-%d.pem", temp_root(), (int)getpid());
	test_ca_write_root_pem(apple.ca, apple.root_path);
	apple.store = store_for("com.example", "41234", apple.root_path);
}

void apple_close(void)
{
	notification_free(apple.n);
	app_store_free(apple.store);
	unlink(apple.root_path);
	free(apple.root_path);
	test_ca_free(apple.ca);
}

struct app_store *store_for(const char *bundle_id, const char *app_id, const char *root)
{
	/* A store borrows its lists. */
	static char *ids[16];
	static size_t used;
	char **bundle = &ids[used], **app = &ids[used + 1];
	struct app_store_config config = {
	    .bundle_ids = {1, bundle},
	    .app_ids = {app_id ? 1 : 0, app},
	    .root_files = {root ? 1 : 0, (char **)&root},
	};
	struct app_store *made = NULL;
	struct err err = ERR_INIT;

	used += 2;
	if (used > sizeof(ids) / sizeof(ids[0]))
		die("too many stores");
	*bundle = (char *)bundle_id;
	*app = (char *)app_id;
	if (app_store_new(&config, &made, &err) < 0)
		die("%s", err.message);
	return made;
}

enum verdict read_at(struct app_store *s, const char *body, int64_t now_ms)
{
	struct webhook hook = {.body = body, .len = strlen(body), .now_ms = now_ms};
	enum verdict verdict;

	notification_free(apple.n);
	apple.n = NULL;
	apple.refusal = (struct refusal){"", ""};
	verdict = app_store_read(s, &hook, &apple.n, &apple.refusal);
	CHECK((apple.n != NULL) == (verdict == VERDICT_AUTHENTIC));
	CHECK((apple.refusal.reason[0] == '\0') == (verdict == VERDICT_AUTHENTIC));
	return verdict;
}

enum verdict read_jws(struct app_store *s, char *jws)
{
	char *body = text_format("{\"signedPayload\":\"%s\"}", jws);
	enum verdict verdict = read_at(s, body, NOW_MS);

	free(jws);
	free(body);
	return verdict;
}

enum verdict read_payload(const char *payload)
{
	return read_jws(apple.store, test_jws(apple.ca, payload));
}

void expect_refused(enum verdict verdict, const char *reason)
{
	CHECK_INT(verdict, VERDICT_FORGED);
	CHECK_STR(apple.refusal.reason, reason);
}

void expect_quarantined(enum verdict verdict, const char *id)
{
	CHECK_INT(verdict, VERDICT_AUTHENTIC);
	CHECK_INT(apple.n->kind, KIND_UNRECOGNIZED);
	CHECK(apple.n->remark != NULL);
	CHECK(apple.n->store_purchase_id == NULL);
	if (id)
		CHECK_STR(apple.n->notification_id, id);
	else
		CHECK(strncmp(apple.n->notification_id, "sha256:", 7) == 0);
}
