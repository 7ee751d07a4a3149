#include "producer/app_store.h"

#include "common/log.h"
#include "common/memory.h"
#include "producer/app_store_map.h"
#include "producer/app_store_part.h"
#include "producer/chain_cache.h"
#include "producer/json.h"
#include "producer/jws.h"
#include "producer/ocsp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chains remembered; Apple uses a handful at a time. */
#define CHAINS 256

/* How far ahead of our clock a signedDate may be: 5 minutes. */
#define MAX_AHEAD_MS INT64_C(300000)

struct app_store {
	struct app_store_config config;
	struct trust *trust;
	struct chain_cache *chains;
	struct ocsp *ocsp; /* NULL: not asked for */
};

/* Whom the notification is for. */
struct address {
	char *bundle_id;
	char *environment;
};

/* One request's life. */
struct reading {
	struct app_store *store;
	int64_t now_ms;
	struct app_store_part outer, transaction, renewal;
	struct address address;
	struct refusal refusal;
};

static int check_config(const struct app_store_config *config, struct err *err)
{
	if (config->bundle_ids.n == 0)
		return err_set(err, ERR_USAGE, "--apple-bundle-id is missing");
	for (size_t i = 0; i < config->bundle_ids.n; i++)
		if (!config->bundle_ids.values[i][0])
			return err_set(err, ERR_USAGE, "--apple-bundle-id is empty");
	for (size_t i = 0; i < config->app_ids.n; i++) {
		const char *id = config->app_ids.values[i];

		if (!*id || id[strspn(id, "0123456789")])
			return err_set(err, ERR_USAGE, "--apple-app-id %s is no number", id);
	}
	return 0;
}

int app_store_new(
    const struct app_store_config *config, struct app_store **ret_store, struct err *err)
{
	struct app_store *s = mem_zalloc(1, sizeof(*s));
	int rc = -1;

	s->config = *config;
	if (check_config(config, err) < 0)
		goto done;
	if (trust_new((const char *const *)config->root_files.values, config->root_files.n,
		&s->trust, err) < 0) {
		err_wrap(err, "--apple-root-file");
		goto done;
	}
	if (config->app_ids.n == 0)
		log_warn("without --apple-app-id, Production notifications are refused");
	s->chains = chain_cache_new(s->trust, CHAINS, config->metrics);
	if (config->ocsp)
		s->ocsp = ocsp_new(config->fetcher);
	*ret_store = s;
	s = NULL;
	rc = 0;
done:
	app_store_free(s);
	return rc;
}

void app_store_free(struct app_store *s)
{
	if (!s)
		return;
	ocsp_free(s->ocsp);
	chain_cache_free(s->chains);
	trust_free(s->trust);
	free(s);
}

static enum verdict refuse(
    struct reading *r, enum verdict verdict, const char *reason, const char *detail)
{
	return store_refuse(verdict, reason, detail, &r->refusal);
}

static enum verdict check_revocation(struct reading *r, struct chain *chain)
{
	if (!r->store->ocsp)
		return VERDICT_AUTHENTIC;
	switch (ocsp_ask(r->store->ocsp, chain, r->now_ms)) {
	case REVOCATION_NONE:
		return VERDICT_AUTHENTIC;
	case REVOCATION_REVOKED:
		return refuse(r, VERDICT_FORGED, "revoked",
		    "Apple has revoked a certificate that this was signed with.");
	case REVOCATION_PENDING:
		return refuse(r, VERDICT_LATER, "revocation_pending",
		    "Apple's OCSP responder is being asked.");
	case REVOCATION_UNKNOWN:
		break;
	}
	return refuse(r, VERDICT_UNAVAILABLE, "revocation_unknown",
	    "Apple's OCSP responder does not answer. Try again later.");
}

/* The signature first: nobody but Apple makes us ask a responder. */
static enum verdict check_signature(struct reading *r, const struct app_store_part *part)
{
	const struct jws *jws = part->jws;
	const char *why = NULL;
	struct chain *chain = chain_cache_verify(
	    r->store->chains, &jws->x5c[0], &jws->x5c[1], part->at_ms / 1000, &why);
	enum verdict verdict;

	if (!chain)
		return refuse(r, VERDICT_FORGED, "bad_chain", why);
	if (!jws_verify_es256(jws, chain->key))
		verdict = refuse(r, VERDICT_FORGED, "bad_signature",
		    "The JWS was not signed with its certificate's key.");
	else
		verdict = check_revocation(r, chain);
	chain_unref(chain);
	return verdict;
}

/*
 * The certificates must have been valid when Apple signed, so that a retry still verifies after the
 * leaf has expired.  That time is what the JWS itself says; whoever could lie about it has a key of
 * Apple's.
 */
static enum verdict verify_part(struct reading *r, const char *text, struct app_store_part *part)
{
	const char *why = app_store_part_read(r->now_ms, text, part);

	if (why)
		return refuse(r, VERDICT_FORGED, "bad_jws", why);
	if (part->at_ms > r->now_ms + MAX_AHEAD_MS)
		return refuse(r, VERDICT_FORGED, "signed_in_future",
		    "signedDate is more than 5 minutes ahead. Check this machine's clock.");
	return check_signature(r, part);
}

/* The member that says whom the payload is for, and its bundleId. */
static const char *find_holder(const struct app_store_part *outer, char **ret_bundle_id)
{
	static const char *const holders[] = {
	    "data", "summary", "externalPurchaseToken", "appData"};

	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
		*ret_bundle_id = app_store_claim_below(outer, holders[i], "bundleId");
		if (*ret_bundle_id || json_get_object(outer->json, holders[i]))
			return holders[i];
	}
	return NULL;
}

/* An externalPurchaseToken shows it by its id. */
static char *find_environment(const struct app_store_part *outer, const char *holder)
{
	const char *environment;
	char *id;

	if (strcmp(holder, "externalPurchaseToken") != 0)
		return app_store_claim_below(outer, holder, "environment");
	id = app_store_claim_below(outer, holder, "externalPurchaseId");
	environment = id && strncmp(id, "SANDBOX", 7) == 0 ? "Sandbox" : "Production";
	free(id);
	return mem_strdup(environment);
}

static bool is_our_app(const struct reading *r, const char *holder)
{
	char path[64], text[24];
	int64_t id;

	snprintf(path, sizeof(path), "%s.appAppleId", holder);
	if (!json_get_int(r->outer.json, path, &id))
		return false;
	snprintf(text, sizeof(text), "%lld", (long long)id);
	return option_list_has(&r->store->config.app_ids, text);
}

static enum verdict check_address(struct reading *r)
{
	struct address *a = &r->address;
	const char *holder = find_holder(&r->outer, &a->bundle_id);
	bool readable = r->outer.json != NULL;

	if (!holder || !option_list_has(&r->store->config.bundle_ids, a->bundle_id))
		return refuse(r, VERDICT_FORGED, "wrong_bundle",
		    "It is not for a bundle id of ours. Check --apple-bundle-id.");
	a->environment = find_environment(&r->outer, holder);
	/* What is unreadable and hides its environment is for us all the same. */
	if (!a->environment && !readable)
		a->environment = mem_strdup("Production");
	if (a->environment && strcmp(a->environment, "Sandbox") == 0)
		return VERDICT_AUTHENTIC;
	if (!a->environment || strcmp(a->environment, "Production") != 0)
		return refuse(r, VERDICT_FORGED, "wrong_environment",
		    "Its environment is neither Production nor Sandbox.");
	if (readable && !is_our_app(r, holder))
		return refuse(r, VERDICT_FORGED, "wrong_app",
		    "Its appAppleId is none of ours. Check --apple-app-id.");
	return VERDICT_AUTHENTIC;
}

static bool same_claim(
    const struct app_store_part *part, const char *name, const char *want, bool optional)
{
	char *found = app_store_claim(part, name);
	bool same = found ? strcmp(found, want) == 0 : optional;

	free(found);
	return same;
}

/* Where the inner payload is unreadable, what can be read of it must agree. */
static enum verdict check_inner(
    struct reading *r, const struct app_store_part *inner, bool names_bundle)
{
	bool readable = inner->json != NULL;

	if (same_claim(inner, "environment", r->address.environment, !readable) &&
	    same_claim(inner, "bundleId", r->address.bundle_id, !readable || !names_bundle))
		return VERDICT_AUTHENTIC;
	return refuse(r, VERDICT_FORGED, "inner_mismatch",
	    "A JWS inside is for another app or environment than the notification.");
}

/* A JWS inside the payload. It is as authentic as what is around it, or nothing is. */
static enum verdict verify_inner(
    struct reading *r, const char *path, bool names_bundle, struct app_store_part *inner)
{
	const json_t *value = json_at(r->outer.json, path);
	enum verdict verdict;

	if (!value || json_is_null(value))
		return VERDICT_AUTHENTIC;
	if (!json_is_string(value)) {
		inner->why = "a JWS inside is no text";
		return VERDICT_AUTHENTIC;
	}
	verdict = verify_part(r, json_string_value(value), inner);
	if (verdict != VERDICT_AUTHENTIC)
		return verdict;
	return check_inner(r, inner, names_bundle);
}

static enum verdict verify(struct reading *r, const char *text)
{
	enum verdict verdict = verify_part(r, text, &r->outer);

	if (verdict == VERDICT_AUTHENTIC)
		verdict = check_address(r);
	if (verdict == VERDICT_AUTHENTIC)
		verdict = verify_inner(r, "data.signedTransactionInfo", true, &r->transaction);
	/* A renewal info has an environment, and no bundleId. */
	if (verdict == VERDICT_AUTHENTIC)
		verdict = verify_inner(r, "data.signedRenewalInfo", false, &r->renewal);
	return verdict;
}

static struct notification *understand(const struct reading *r)
{
	bool sandbox = strcmp(r->address.environment, "Sandbox") == 0;
	struct notification *n =
	    notification_new(sandbox ? "app_store_sandbox" : "app_store", r->now_ms);
	const struct jws *jws = r->outer.jws;
	struct app_store_payloads payloads = {r->outer.json, r->transaction.json, r->renewal.json};
	const char *why = r->outer.why;

	n->notification_id = app_store_claim(&r->outer, "notificationUUID");
	n->occurred_at = r->outer.at_ms;
	if (!why)
		why = r->transaction.why ? r->transaction.why : r->renewal.why;
	if (!why)
		why = app_store_map(n, &payloads);
	if (why)
		notification_quarantine(n, jws->payload, jws->payload_len, why);
	else
		notification_check(n, jws->payload, jws->payload_len);
	return n;
}

static void reading_done(struct reading *r)
{
	free(r->address.bundle_id);
	free(r->address.environment);
	app_store_part_done(&r->renewal);
	app_store_part_done(&r->transaction);
	app_store_part_done(&r->outer);
}

static void reread_inner(struct reading *r, const char *path, struct app_store_part *inner)
{
	const json_t *value = json_at(r->outer.json, path);
	const char *why = NULL;

	if (!value || json_is_null(value))
		return;
	if (json_is_string(value))
		why = app_store_part_read(r->now_ms, json_string_value(value), inner);
	else
		why = "a JWS inside is no text";
	if (why)
		inner->why = why;
}

static struct notification *keep_unread(
    const char *store, const struct webhook *hook, const char *why)
{
	struct notification *n = notification_new(store, hook->now_ms);

	notification_quarantine(n, hook->body, hook->len, why);
	return n;
}

struct notification *app_store_reread(const char *store, const struct webhook *hook)
{
	bool sandbox = strcmp(store, "app_store_sandbox") == 0;
	struct reading r = {.now_ms = hook->now_ms};
	const char *why = "it has no signedPayload";
	json_t *body = json_read(hook->body, hook->len, &why);
	const char *text = json_get_string(body, "signedPayload");
	struct notification *n;

	r.address.environment = mem_strdup(sandbox ? "Sandbox" : "Production");
	if (text)
		why = app_store_part_read(r.now_ms, text, &r.outer);
	reread_inner(&r, "data.signedTransactionInfo", &r.transaction);
	reread_inner(&r, "data.signedRenewalInfo", &r.renewal);
	n = r.outer.jws ? understand(&r)
			: keep_unread(sandbox ? "app_store_sandbox" : "app_store", hook, why);
	reading_done(&r);
	json_decref(body);
	return n;
}

enum verdict app_store_read(void *store, const struct webhook *hook,
    struct notification **ret_notification, struct refusal *ret_refusal)
{
	struct reading r = {.store = store, .now_ms = hook->now_ms};
	const char *why;
	json_t *body = json_read(hook->body, hook->len, &why);
	const char *text = json_get_string(body, "signedPayload");
	enum verdict verdict;

	if (text)
		verdict = verify(&r, text);
	else
		verdict = refuse(&r, VERDICT_MALFORMED, "bad_body",
		    "The body must be {\"signedPayload\": \"...\"}.");
	if (verdict == VERDICT_AUTHENTIC)
		*ret_notification = understand(&r);
	else
		*ret_refusal = r.refusal;
	reading_done(&r);
	json_decref(body);
	return verdict;
}
