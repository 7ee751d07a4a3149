#include "producer/ocsp.h"

#include "common/log.h"
#include "common/memory.h"
#include "producer/fetch.h"

#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Apple signs with a handful of certificates at a time. */
#define MAX_ENTRIES 128

/* Apple's answers have about 2 KiB. */
#define MAX_ANSWER 65536

/*
 * What is known of one certificate:
 *
 *	free -> PENDING -> NONE, REVOKED or UNKNOWN -> PENDING again when its time is over
 */
struct entry {
	unsigned char digest[SHA256_DIGEST_LENGTH];
	bool used;
	enum revocation revocation;
	int64_t until_ms;  /* of an answer: it holds up to here */
	unsigned failures; /* in a row: which of several responders is asked next */
};

struct ocsp {
	struct fetcher *fetcher;
	pthread_mutex_t lock; /* guards entries; not held while the fetcher is called */
	struct entry entries[MAX_ENTRIES];
};

/* A question on its way. */
struct question {
	struct ocsp *ocsp;
	struct chain *chain; /* a reference: what subject borrows from */
	struct ocsp_subject subject;
	unsigned char digest[SHA256_DIGEST_LENGTH];
	char *url;
	int64_t asked_ms;
};

struct ocsp *ocsp_new(struct fetcher *fetcher)
{
	struct ocsp *o = mem_zalloc(1, sizeof(*o));

	o->fetcher = fetcher;
	pthread_mutex_init(&o->lock, NULL);
	return o;
}

void ocsp_free(struct ocsp *o)
{
	if (!o)
		return;
	pthread_mutex_destroy(&o->lock);
	free(o);
}

static struct entry *find_entry(struct ocsp *o, const unsigned char *digest)
{
	for (size_t i = 0; i < MAX_ENTRIES; i++)
		if (o->entries[i].used &&
		    memcmp(o->entries[i].digest, digest, SHA256_DIGEST_LENGTH) == 0)
			return &o->entries[i];
	return NULL;
}

/* A free entry, or the one whose answer ends first. NULL: all are pending. */
static struct entry *make_room(struct ocsp *o)
{
	struct entry *soonest = NULL;

	for (size_t i = 0; i < MAX_ENTRIES; i++) {
		struct entry *e = &o->entries[i];

		if (!e->used)
			return e;
		if (e->revocation == REVOCATION_PENDING)
			continue;
		if (!soonest || e->until_ms < soonest->until_ms)
			soonest = e;
	}
	return soonest;
}

/* What is known now.  True when the caller must ask; the entry is pending then. */
static bool look_up(struct ocsp *o, const unsigned char *digest, int64_t now_ms,
    enum revocation *ret_known, unsigned *ret_failures)
{
	struct entry *e;
	bool ask = false;

	pthread_mutex_lock(&o->lock);
	e = find_entry(o, digest);
	if (e && (e->revocation == REVOCATION_PENDING || now_ms < e->until_ms)) {
		*ret_known = e->revocation;
		goto done;
	}
	if (!e) {
		e = make_room(o);
		if (!e) {
			*ret_known = REVOCATION_UNKNOWN;
			goto done;
		}
		*e = (struct entry){.used = true};
		memcpy(e->digest, digest, sizeof(e->digest));
	}
	e->revocation = REVOCATION_PENDING;
	*ret_known = REVOCATION_PENDING;
	*ret_failures = e->failures;
	ask = true;
done:
	pthread_mutex_unlock(&o->lock);
	return ask;
}

/* until_ms 0: as short as may be. */
static void keep_answer(const struct question *q, enum revocation revocation, int64_t until_ms)
{
	struct ocsp *o = q->ocsp;
	int64_t retry_ms = q->asked_ms + OCSP_RETRY_MS;
	struct entry *e;

	pthread_mutex_lock(&o->lock);
	/* It is there: nobody evicts what is pending. */
	e = find_entry(o, q->digest);
	e->revocation = revocation;
	e->failures = revocation == REVOCATION_UNKNOWN ? e->failures + 1 : 0;
	/* An answer that ends at once would be asked for by every notification. */
	e->until_ms = until_ms > retry_ms ? until_ms : retry_ms;
	pthread_mutex_unlock(&o->lock);
}

static void question_free(struct question *q)
{
	chain_unref(q->chain);
	free(q->url);
	free(q);
}

static void take_answer(void *ctx, const struct fetch_answer *answer)
{
	struct question *q = ctx;
	enum revocation revocation = REVOCATION_UNKNOWN;
	int64_t until_ms = 0;

	if (answer->status == 200)
		revocation = ocsp_response_read(
		    &q->subject, answer->body, answer->len, q->asked_ms, &until_ms);
	if (revocation == REVOCATION_UNKNOWN)
		log_warn("no answer from an OCSP responder that could be believed",
		    lf_str("url", q->url), lf_int("status", answer->status),
		    lf_str("error", answer->error));
	keep_answer(q, revocation, until_ms);
	question_free(q);
}

/* Takes q over. */
static void ask_responder(struct question *q)
{
	size_t len = 0;
	unsigned char *der = ocsp_request_write(&q->subject, &len);
	struct fetch_request request = {
	    .url = q->url,
	    .body = der,
	    .len = len,
	    .content_type = "application/ocsp-request",
	    .max_bytes = MAX_ANSWER,
	    .timeout_ms = OCSP_TIMEOUT_MS,
	};
	struct err err = ERR_INIT;

	if (fetch_start(q->ocsp->fetcher, &request, take_answer, q, &err) < 0) {
		log_warn("an OCSP responder cannot be asked", lf_str("url", q->url), lf_err(&err));
		keep_answer(q, REVOCATION_UNKNOWN, 0);
		question_free(q);
	}
	OPENSSL_free(der);
}

static enum revocation ask_about(
    struct ocsp *o, struct chain *chain, struct ocsp_subject subject, int64_t now_ms)
{
	STACK_OF(OPENSSL_STRING) *urls = X509_get1_ocsp(subject.cert);
	int n = urls ? sk_OPENSSL_STRING_num(urls) : 0;
	enum revocation known = REVOCATION_NONE;
	unsigned char digest[SHA256_DIGEST_LENGTH];
	unsigned failures = 0;

	if (!X509_digest(subject.cert, EVP_sha256(), digest, NULL))
		abort();
	if (n > 0 && look_up(o, digest, now_ms, &known, &failures)) {
		struct question *q = mem_zalloc(1, sizeof(*q));

		q->ocsp = o;
		q->chain = chain_ref(chain);
		q->subject = subject;
		memcpy(q->digest, digest, sizeof(digest));
		q->asked_ms = now_ms;
		q->url = mem_strdup(sk_OPENSSL_STRING_value(urls, (int)(failures % (unsigned)n)));
		ask_responder(q);
	}
	X509_email_free(urls);
	return known;
}

enum revocation ocsp_ask(struct ocsp *o, struct chain *chain, int64_t now_ms)
{
	/* Worst first. Unknown before pending: who asks need not wait for the other answer. */
	static const enum revocation order[] = {
	    REVOCATION_REVOKED, REVOCATION_UNKNOWN, REVOCATION_PENDING};
	struct ocsp_subject leaf = {chain->leaf, chain->intermediate, chain->root};
	struct ocsp_subject intermediate = {chain->intermediate, chain->root, chain->root};
	/* Both are asked before either answer counts, so that they are asked at the same time. */
	enum revocation a = ask_about(o, chain, leaf, now_ms);
	enum revocation b = ask_about(o, chain, intermediate, now_ms);

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return REVOCATION_NONE;
}
