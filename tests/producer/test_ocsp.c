#include "common/clock.h"
#include "producer/app_store.h"
#include "producer/chain.h"
#include "producer/fetch.h"
#include "producer/ocsp.h"
#include "producer/trust.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/test_ca.h"
#include "tests/support/test_jws.h"
#include "tests/support/test_responder.h"
#include "tests/support/text.h"

#include <openssl/ocsp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Past what the responder said an hour ago, and not beyond the leeway of what it says now. */
#define HOUR_AND_A_BIT_MS INT64_C(3720000)

/* A chain whose certificates name `url`, and who asks about it. */
struct setting {
	struct test_ca *ca;
	struct trust *trust;
	struct chain *chain;
	struct fetcher *fetcher;
	struct ocsp *ocsp;
	char *root_path;
};

static void setting_open(struct setting *s, const char *url)
{
	struct err err = ERR_INIT;
	const char *path, *why = NULL;
	unsigned char *leaf = NULL, *intermediate = NULL;
	int leaf_len, intermediate_len;

	s->ca = test_ca_new(&(struct test_ca_spec){.ocsp_url = url});
	s->root_path = text_format("%s/umavez-test-ocsp-%d.pem", temp_root(), (int)getpid());
	test_ca_write_root_pem(s->ca, s->root_path);
	path = s->root_path;
	leaf_len = i2d_X509(test_ca_leaf(s->ca), &leaf);
	intermediate_len = i2d_X509(test_ca_intermediate(s->ca), &intermediate);
	if (trust_new(&path, 1, &s->trust, &err) < 0 || fetch_open(&s->fetcher, &err) < 0)
		die("%s", err.message);
	s->chain = chain_verify(s->trust, leaf, (size_t)leaf_len, intermediate,
	    (size_t)intermediate_len, clock_wall_ms() / 1000, &why);
	if (!s->chain)
		die("%s", why);
	s->ocsp = ocsp_new(s->fetcher);
	OPENSSL_free(leaf);
	OPENSSL_free(intermediate);
}

static void setting_close(struct setting *s)
{
	fetch_close(s->fetcher);
	ocsp_free(s->ocsp);
	chain_unref(s->chain);
	trust_free(s->trust);
	test_ca_free(s->ca);
	unlink(s->root_path);
	free(s->root_path);
}

/* Ask until it is no longer pending. */
static enum revocation ask(struct setting *s, int64_t at_ms)
{
	int64_t deadline = now_ms() + 2 * OCSP_TIMEOUT_MS;
	enum revocation revocation;

	while ((revocation = ocsp_ask(s->ocsp, s->chain, at_ms)) == REVOCATION_PENDING) {
		CHECK(now_ms() < deadline);
		sleep_ms(2);
	}
	return revocation;
}

static void answers_are_believed_and_kept(void)
{
	struct responder *r = responder_open(ANSWERS_GOOD);
	struct setting s;
	int64_t at_ms = clock_wall_ms();

	setting_open(&s, responder_url(r));
	responder_set_ca(r, s.ca);
	CHECK_INT(ocsp_ask(s.ocsp, s.chain, at_ms), REVOCATION_PENDING);
	CHECK_INT(ask(&s, at_ms), REVOCATION_NONE);
	CHECK_INT(responder_asked(r), 2); /* the leaf, the intermediate */
	CHECK_INT(ask(&s, at_ms + INT64_C(1800000)), REVOCATION_NONE);
	CHECK_INT(responder_asked(r), 2);
	/* Past nextUpdate it is asked anew. */
	CHECK_INT(ocsp_ask(s.ocsp, s.chain, at_ms + HOUR_AND_A_BIT_MS), REVOCATION_PENDING);
	responder_close(r);
	setting_close(&s);
}

static void revoked_is_revoked(void)
{
	struct responder *r = responder_open(ANSWERS_REVOKED);
	struct setting s;

	setting_open(&s, responder_url(r));
	responder_set_ca(r, s.ca);
	CHECK_INT(ask(&s, clock_wall_ms()), REVOCATION_REVOKED);
	responder_close(r);
	setting_close(&s);
}

static void without_a_responder_there_is_nothing_to_ask(void)
{
	struct setting s;

	setting_open(&s, NULL);
	CHECK_INT(ocsp_ask(s.ocsp, s.chain, clock_wall_ms()), REVOCATION_NONE);
	setting_close(&s);
}

static void b03_what_is_not_known_is_asked_again(void)
{
	static const enum mood moods[] = {ANSWERS_NONSENSE, ANSWERS_UNKNOWN, SILENT};

	for (size_t i = 0; i < sizeof(moods) / sizeof(moods[0]); i++) {
		struct responder *r = responder_open(moods[i]);
		int64_t at_ms = clock_wall_ms(), started = now_ms();
		struct setting s;
		int asked;

		setting_open(&s, responder_url(r));
		responder_set_ca(r, s.ca);
		CHECK_INT(ask(&s, at_ms), REVOCATION_UNKNOWN);
		CHECK(now_ms() - started < 2 * OCSP_TIMEOUT_MS);
		asked = responder_asked(r);
		CHECK_INT(ask(&s, at_ms + OCSP_RETRY_MS - 1), REVOCATION_UNKNOWN);
		CHECK(responder_asked(r) <= 2);
		responder_set_mood(r, ANSWERS_GOOD);
		CHECK_INT(ask(&s, at_ms + OCSP_RETRY_MS), REVOCATION_NONE);
		CHECK(responder_asked(r) > asked);
		responder_close(r);
		setting_close(&s);
	}
}

/* Answers as they are read, without a responder. */
static enum revocation read_answer(const struct test_ca *asked_about, const struct test_ca *answers,
    int64_t this_update, int64_t next_update, int64_t now_s, int64_t *ret_until_ms)
{
	struct ocsp_subject subject = {test_ca_leaf(asked_about), test_ca_intermediate(asked_about),
	    test_ca_root(asked_about)};
	size_t request_len, len;
	unsigned char *request = ocsp_request_write(&subject, &request_len);
	void *answer = test_ca_ocsp_answer(
	    answers, request, request_len, V_OCSP_CERTSTATUS_GOOD, this_update, next_update, &len);
	enum revocation revocation =
	    ocsp_response_read(&subject, answer, len, now_s * 1000, ret_until_ms);

	OPENSSL_free(request);
	OPENSSL_free(answer);
	return revocation;
}

static void answers_must_be_signed_for_and_current(void)
{
	struct test_ca *ca = test_ca_new(NULL), *other = test_ca_new(NULL);
	struct test_ca *sibling = test_ca_new_leaf(ca, NULL);
	int64_t now = 1767225600, until = 0;

	CHECK_INT(read_answer(ca, ca, now - 60, now + 600, now, &until), REVOCATION_NONE);
	CHECK_INT(until, (now + 600) * 1000);
	CHECK_INT(read_answer(ca, ca, now - 60, 0, now, &until), REVOCATION_NONE);
	CHECK_INT(until, (now + 3600) * 1000);
	CHECK_INT(read_answer(ca, ca, now - 60, now + 604800, now, &until), REVOCATION_NONE);
	CHECK_INT(until, (now + 86400) * 1000);
	/* Of tomorrow, of last week. */
	CHECK_INT(read_answer(ca, ca, now + 3600, now + 7200, now, &until), REVOCATION_UNKNOWN);
	CHECK_INT(read_answer(ca, ca, now - 7200, now - 3600, now, &until), REVOCATION_UNKNOWN);
	/* Signed by a stranger; by the root, which did not issue the leaf. */
	CHECK_INT(read_answer(ca, other, now - 60, now + 600, now, &until), REVOCATION_UNKNOWN);
	CHECK_INT(read_answer(ca, sibling, now - 60, now + 600, now, &until), REVOCATION_UNKNOWN);
	test_ca_free(ca);
	test_ca_free(other);
	test_ca_free(sibling);
}

static void answers_are_judged_at_the_time_asked(void)
{
	const int64_t y2024 = 1704067200, y2025 = 1735689600, between = 1717200000;
	struct test_ca *old = test_ca_new(&(struct test_ca_spec){.root_from = y2024,
	    .root_to = y2025,
	    .intermediate_from = y2024,
	    .intermediate_to = y2025});
	int64_t until;

	CHECK_INT(
	    read_answer(old, old, between - 60, between + 600, between, &until), REVOCATION_NONE);
	CHECK_INT(
	    read_answer(old, old, y2025, y2025 + 600, y2025 + 60, &until), REVOCATION_UNKNOWN);
	test_ca_free(old);
}

static void answers_about_another_certificate(void)
{
	struct test_ca *ca = test_ca_new(NULL), *sibling = test_ca_new_leaf(ca, NULL);
	struct ocsp_subject ours = {test_ca_leaf(ca), test_ca_intermediate(ca), test_ca_root(ca)};
	struct ocsp_subject theirs = {
	    test_ca_leaf(sibling), test_ca_intermediate(ca), test_ca_root(ca)};
	size_t request_len, len;
	unsigned char *request = ocsp_request_write(&theirs, &request_len);
	int64_t now = 1767225600, until;
	unsigned char *answer = test_ca_ocsp_answer(
	    sibling, request, request_len, V_OCSP_CERTSTATUS_GOOD, now - 60, now + 600, &len);

	CHECK_INT(ocsp_response_read(&theirs, answer, len, now * 1000, &until), REVOCATION_NONE);
	CHECK_INT(ocsp_response_read(&ours, answer, len, now * 1000, &until), REVOCATION_UNKNOWN);
	for (size_t i = 0; i < len; i++) {
		answer[i] ^= 0x40;
		CHECK(ocsp_response_read(&theirs, answer, len, now * 1000, &until) !=
		      REVOCATION_REVOKED);
		answer[i] ^= 0x40;
	}
	for (size_t i = 0; i < len; i += 5)
		CHECK_INT(
		    ocsp_response_read(&theirs, answer, i, now * 1000, &until), REVOCATION_UNKNOWN);
	OPENSSL_free(request);
	OPENSSL_free(answer);
	test_ca_free(ca);
	test_ca_free(sibling);
}

static enum verdict read_until_known(
    struct app_store *store, const char *body, int64_t at_ms, char *ret_reason, size_t size)
{
	struct webhook hook = {.body = body, .len = strlen(body), .now_ms = at_ms};
	int64_t deadline = now_ms() + 2 * OCSP_TIMEOUT_MS;
	struct notification *n = NULL;
	struct refusal refusal = {"", ""};
	enum verdict verdict;

	while ((verdict = app_store_read(store, &hook, &n, &refusal)) == VERDICT_LATER) {
		CHECK(now_ms() < deadline);
		sleep_ms(2);
	}
	CHECK((n != NULL) == (verdict == VERDICT_AUTHENTIC));
	notification_free(n);
	snprintf(ret_reason, size, "%s", refusal.reason);
	return verdict;
}

static char *test_body(const struct test_ca *ca)
{
	char *jws =
	    test_jws(ca, "{\"notificationType\":\"TEST\",\"notificationUUID\":\"u\",\"signedDate\":"
			 "1767225600000,"
			 "\"data\":{\"bundleId\":\"com.example\",\"environment\":\"Sandbox\"}}");
	char *body = text_format("{\"signedPayload\":\"%s\"}", jws);

	free(jws);
	return body;
}

static void b03_a_notification_waits_for_the_responder(void)
{
	struct responder *r = responder_open(SILENT);
	char *ids[] = {(char *)"com.example"}, *roots[1], reason[64];
	struct app_store_config config = {.bundle_ids = {1, ids}, .root_files = {1, roots}};
	struct app_store *store = NULL;
	struct err err = ERR_INIT;
	int64_t at_ms = clock_wall_ms();
	struct setting s;
	char *body;

	setting_open(&s, responder_url(r));
	responder_set_ca(r, s.ca);
	roots[0] = s.root_path;
	config.ocsp = true;
	config.fetcher = s.fetcher;
	CHECK_INT(app_store_new(&config, &store, &err), 0);
	body = test_body(s.ca);
	CHECK_INT(
	    read_until_known(store, body, at_ms, reason, sizeof(reason)), VERDICT_UNAVAILABLE);
	CHECK_STR(reason, "revocation_unknown");
	responder_set_mood(r, ANSWERS_GOOD);
	at_ms += OCSP_RETRY_MS;
	CHECK_INT(read_until_known(store, body, at_ms, reason, sizeof(reason)), VERDICT_AUTHENTIC);
	responder_set_mood(r, ANSWERS_REVOKED);
	at_ms += HOUR_AND_A_BIT_MS;
	CHECK_INT(read_until_known(store, body, at_ms, reason, sizeof(reason)), VERDICT_FORGED);
	CHECK_STR(reason, "revoked");
	free(body);
	responder_close(r);
	setting_close(&s);
	app_store_free(store);
}

static void b03_nobody_listens(void)
{
	struct setting s;

	setting_open(&s, "http://127.0.0.1:1/ocsp");
	CHECK_INT(ask(&s, clock_wall_ms()), REVOCATION_UNKNOWN);
	setting_close(&s);
}

static const struct check checks[] = {
    {"answers are believed and kept", answers_are_believed_and_kept},
    {"revoked is revoked", revoked_is_revoked},
    {"without a responder there is nothing to ask", without_a_responder_there_is_nothing_to_ask},
    {"B03 what is not known is asked again", b03_what_is_not_known_is_asked_again},
    {"B03 nobody listens", b03_nobody_listens},
    {"B03 a notification waits for the responder", b03_a_notification_waits_for_the_responder},
    {"answers must be signed for and current", answers_must_be_signed_for_and_current},
    {"answers are judged at the time asked", answers_are_judged_at_the_time_asked},
    {"answers about another certificate", answers_about_another_certificate},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("producer ocsp", checks, argc, argv);
}
