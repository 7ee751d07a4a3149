#include "tests/bench/requests.h"

#include "tests/support/copy.h"
#include "tests/support/die.h"
#include "tests/support/load_private.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What stores' events have: the orientation of all these measurements is 1 KiB. */
#define STRIPE_BYTES 1024

/* A member more at the end of the object, so that it has the usual size. */
static char *pad(const char *json, size_t bytes)
{
	static const char member[] = ",\"padding\":\"";
	size_t len = strlen(json), more = len + sizeof(member) + 2;
	size_t n = more < bytes ? bytes - more : 0;
	char *text = malloc(more + n + 1);
	char *end = text;

	if (text == NULL)
		die("out of memory");
	end = mempcpy(end, json, len - 1);
	end = mempcpy(end, member, sizeof(member) - 1);
	memset(end, 'x', n);
	memcpy(end + n, "\"}", 3);
	return text;
}

static void make(struct request *r, const char *route, const char *header, const char *body)
{
	r->bytes = text_format("POST /webhooks/%s HTTP/1.1\r\nHost: localhost\r\n"
			       "Content-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n%s",
	    route, header, strlen(body), body);
	r->len = strlen(r->bytes);
}

static void make_stripe(struct request *r, const char *body)
{
	char *padded = pad(body, STRIPE_BYTES);
	char *signature = sign_stripe(SIGNER_STRIPE_SECRET, time(NULL), padded, strlen(padded));
	char *header = text_format("Stripe-Signature: %s\r\n", signature);

	make(r, "stripe", header, padded);
	free(padded);
	free(signature);
	free(header);
}

struct requests *requests_new(struct world *w, enum load_store store, int n, uint64_t seed)
{
	const struct load_options options = {
	    .seed = seed, .notifications = n, .stores = 1U << store};
	struct requests *r = calloc(1, sizeof(*r));
	/* Google's pushes share a token for as long as it is valid. */
	char *token = google_token(world_signer(w), time(NULL));
	char *authorization = text_format("Authorization: %s\r\n", token);
	struct load_plan plan;

	load_plan_make(&options, world_signer(w), &plan);
	r->n = n;
	r->all = calloc((size_t)n, sizeof(*r->all));
	for (int i = 0; i < n; i++) {
		r->all[i].store = load_store_name(store);
		r->all[i].notification_id = text_format("%s", plan.items[i].notification_id);
		if (store == LOAD_STRIPE)
			make_stripe(&r->all[i], plan.items[i].body);
		else if (store == LOAD_APP_STORE)
			make(&r->all[i], "app-store", "", plan.items[i].body);
		else
			make(&r->all[i], "google-play", authorization, plan.items[i].body);
	}
	load_plan_done(&plan);
	free(token);
	free(authorization);
	return r;
}

void requests_free(struct requests *r)
{
	if (r == NULL)
		return;
	for (int i = 0; i < r->n; i++) {
		free(r->all[i].notification_id);
		free(r->all[i].bytes);
	}
	free(r->all);
	free(r);
}

void requests_witness(struct world *w, const struct requests *r, int first, int n)
{
	struct copy *copy = copy_new(w, "witness.answered");

	for (int i = first; i < first + n; i++) {
		copy_text(copy, r->all[i].store);
		copy_text(copy, r->all[i].notification_id);
		copy_int(copy, 1); /* sent, and accepted, and no duplicate */
		copy_int(copy, 1);
		copy_int(copy, 0);
		copy_row(copy);
	}
	copy_end(copy);
}
