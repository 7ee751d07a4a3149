#include "common/clock.h"
#include "tests/support/die.h"
#include "tests/support/load_private.h"
#include "tests/support/text.h"

#include <stdlib.h>

#define STEP_MS 1000

/* What may happen to a subscription, in words of its own; the first is always STARTED. */
enum happening {
	STARTED,
	RENEWED,
	CANCELED,
	UNCANCELED,
	GRACE,
	RECOVERED,
	ENDED,
	NOTED,
	HAPPENINGS
};

/* One purchase while the plan is made. */
struct life {
	enum load_store store;
	int number;
	int events;
	int period; /* grows with every payment */
};

struct planner {
	const struct load_options *options;
	struct signer *signer;
	struct rng rng;
	int64_t begin_ms;
};

static uint64_t below(struct rng *rng, uint64_t bound)
{
	return rng_next(rng) % bound;
}

static enum happening next_happening(struct planner *p, struct life *life)
{
	/* Mostly renewals, as in life. */
	static const enum happening likely[] = {RENEWED, RENEWED, RENEWED, RENEWED, RENEWED,
	    CANCELED, UNCANCELED, GRACE, RECOVERED, ENDED, NOTED};

	if (life->events++ == 0)
		return STARTED;
	return likely[below(&p->rng, sizeof(likely) / sizeof(likely[0]))];
}

/* A UUID, as an app that names its buyers makes one for each. */
static char *apple_account(const struct planner *p, const struct life *life)
{
	return text_format("%08llx-0000-4000-8000-%012x",
	    (unsigned long long)p->options->seed & 0xffffffff, (unsigned)life->number);
}

static void make_apple(struct planner *p, const struct life *life, enum happening what,
    int64_t at_ms, struct load_item *item)
{
	static const char *const types[HAPPENINGS][2] = {
	    [STARTED] = {"SUBSCRIBED", "INITIAL_BUY"},
	    [RENEWED] = {"DID_RENEW", NULL},
	    [CANCELED] = {"DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"},
	    [UNCANCELED] = {"DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"},
	    [GRACE] = {"DID_FAIL_TO_RENEW", "GRACE_PERIOD"},
	    [RECOVERED] = {"DID_RENEW", "BILLING_RECOVERY"},
	    [ENDED] = {"REFUND", NULL},
	    [NOTED] = {"CONSUMPTION_REQUEST", NULL},
	};
	uint64_t a = rng_next(&p->rng), b = rng_next(&p->rng);
	char *original = text_format(
	    "%llu%05d", (unsigned long long)p->options->seed % 1000000000, life->number);
	char *transaction = text_format("%s%03d", original, life->period);
	char *account = apple_account(p, life);
	struct apple_spec spec = {.type = types[what][0],
	    .subtype = types[what][1],
	    .original_transaction_id = original,
	    .transaction_id = transaction,
	    .product_id = "monthly",
	    .account_token = account,
	    .signed_date = at_ms,
	    .purchase_date = at_ms,
	    .expires_date = at_ms + INT64_C(30) * 86400 * 1000,
	    .price_milliunits = 4990,
	    .currency = "EUR",
	    .auto_renew = what != CANCELED};

	item->notification_id = text_format("%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(a >> 32),
	    (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xfff, (unsigned)(b >> 48) & 0xfff,
	    (unsigned long long)(b & 0xffffffffffff));
	spec.uuid = item->notification_id;
	item->body = apple_body(p->signer, &spec);
	free(original);
	free(transaction);
	free(account);
}

static void make_google(struct planner *p, const struct life *life, enum happening what,
    int64_t at_ms, int serial, struct load_item *item)
{
	static const int types[HAPPENINGS] = {[STARTED] = 4,
	    [RENEWED] = 2,
	    [CANCELED] = 3,
	    [UNCANCELED] = 7,
	    [GRACE] = 6,
	    [RECOVERED] = 1,
	    [ENDED] = 12,
	    [NOTED] = 8};
	char *token =
	    text_format("token-%llx-%d", (unsigned long long)p->options->seed, life->number);
	char *rtdn = google_subscription(types[what], token, "monthly", at_ms);
	char *message_id =
	    text_format("%llu%06d", (unsigned long long)p->options->seed % 1000000000, serial);

	item->notification_id = text_format("%s/%s", SIGNER_PACKAGE, message_id);
	item->body = google_body(message_id, rtdn);
	free(token);
	free(rtdn);
	free(message_id);
}

static char *stripe_invoice(const char *subscription, const struct life *life, enum happening what)
{
	return text_format("{\"object\":\"invoice\",\"id\":\"in_%s_%d\",\"customer\":\"cus_%d\","
			   "\"billing_reason\":\"%s\","
			   "\"amount_paid\":999,\"currency\":\"eur\",\"next_payment_attempt\":%s,"
			   "\"lines\":{\"data\":[{\"quantity\":1,\"pricing\":{\"price_details\":"
			   "{\"price\":\"price_1\",\"product\":\"prod_1\"}}}]},"
			   "\"parent\":{\"type\":\"subscription_details\","
			   "\"subscription_details\":{\"subscription\":\"%s\"}}}",
	    subscription, life->period, life->number,
	    life->period == 0 ? "subscription_create" : "subscription_cycle",
	    what == GRACE ? "1900000000" : "null", subscription);
}

static char *stripe_subscription(
    const char *subscription, const struct life *life, enum happening what)
{
	return text_format("{\"object\":\"subscription\",\"id\":\"%s\",\"customer\":\"cus_%d\","
			   "\"status\":\"%s\","
			   "\"cancel_at_period_end\":%s,\"items\":{\"data\":[{\"quantity\":1,"
			   "\"current_period_end\":1900000000,\"price\":{\"id\":\"price_1\","
			   "\"product\":\"prod_1\"}}]}}",
	    subscription, life->number, what == ENDED ? "canceled" : "active",
	    what == CANCELED ? "true" : "false");
}

static void make_stripe(struct planner *p, const struct life *life, enum happening what,
    int64_t at_ms, int serial, struct load_item *item)
{
	static const char *const types[HAPPENINGS] = {[STARTED] = "customer.subscription.created",
	    [RENEWED] = "invoice.paid",
	    [CANCELED] = "customer.subscription.updated",
	    [UNCANCELED] = "customer.subscription.updated",
	    [GRACE] = "invoice.payment_failed",
	    [RECOVERED] = "invoice.paid",
	    [ENDED] = "customer.subscription.deleted",
	    [NOTED] = "customer.updated"};
	char *subscription =
	    text_format("sub_%llx_%d", (unsigned long long)p->options->seed, life->number);
	char *object;

	if (what == NOTED)
		object = text_format("{\"object\":\"customer\",\"id\":\"cus_%d\"}", life->number);
	else if (what == RENEWED || what == GRACE || what == RECOVERED)
		object = stripe_invoice(subscription, life, what);
	else
		object = stripe_subscription(subscription, life, what);
	item->notification_id =
	    text_format("evt_%llx_%d", (unsigned long long)p->options->seed, serial);
	item->body = stripe_event(item->notification_id, types[what], 1, at_ms / 1000, object);
	free(subscription);
	free(object);
}

static void make_item(struct planner *p, struct life *life, int serial, struct load_item *item)
{
	enum happening what = next_happening(p, life);
	/* Some at the same instant: then rank and id decide. */
	int64_t at_ms = p->begin_ms + (life->events - (int64_t)below(&p->rng, 2)) * STEP_MS;

	if (what == RENEWED || what == RECOVERED)
		life->period++;
	item->store = life->store;
	if (life->store == LOAD_APP_STORE)
		make_apple(p, life, what, at_ms, item);
	else if (life->store == LOAD_GOOGLE_PLAY)
		make_google(p, life, what, at_ms, serial, item);
	else
		make_stripe(p, life, what, at_ms, serial, item);
}

static enum load_store draw_store(struct planner *p)
{
	enum load_store store;

	do
		store = (enum load_store)below(&p->rng, LOAD_STORES);
	while (p->options->stores != 0 && !(p->options->stores & 1U << store));
	return store;
}

static void make_items(struct planner *p, struct load_plan *plan)
{
	const struct load_options *o = p->options;
	int n_lives = o->purchases > 0 ? o->purchases : o->notifications / 5 + 1;
	struct life *lives = calloc((size_t)n_lives, sizeof(*lives));

	plan->n_items = o->notifications;
	plan->items = calloc((size_t)o->notifications, sizeof(*plan->items));
	if (lives == NULL || plan->items == NULL)
		die("out of memory");
	for (int i = 0; i < n_lives; i++) {
		lives[i].number = i;
		lives[i].store = draw_store(p);
	}
	for (int i = 0; i < o->notifications; i++)
		make_item(p, &lives[below(&p->rng, (uint64_t)n_lives)], i, &plan->items[i]);
	free(lives);
}

/* Each item once; then duplicates in random places; then some change places with a near one. */
static void make_deliveries(struct planner *p, struct load_plan *plan)
{
	const struct load_options *o = p->options;
	int n = plan->n_items;

	plan->deliveries = calloc(2 * (size_t)n, sizeof(*plan->deliveries));
	if (plan->deliveries == NULL)
		die("out of memory");
	for (int i = 0; i < n; i++) {
		plan->deliveries[plan->n_deliveries++] = i;
		if (rng_unit(&p->rng) < o->duplicates)
			plan->deliveries[plan->n_deliveries++] =
			    i - (int)below(&p->rng, i < 50 ? (uint64_t)i + 1 : 50);
	}
	for (int i = 0; i < plan->n_deliveries; i++) {
		int other = i + (int)below(&p->rng, 30), kept = plan->deliveries[i];

		if (other >= plan->n_deliveries || rng_unit(&p->rng) >= o->reorder)
			continue;
		plan->deliveries[i] = plan->deliveries[other];
		plan->deliveries[other] = kept;
	}
}

void load_plan_make(
    const struct load_options *options, struct signer *signer, struct load_plan *ret)
{
	struct planner p = {.options = options, .signer = signer};

	rng_seed(&p.rng, options->seed);
	/* Yesterday, so that no store's clock check minds. */
	p.begin_ms = clock_wall_ms() / 1000 * 1000 - INT64_C(86400) * 1000;
	*ret = (struct load_plan){0};
	make_items(&p, ret);
	make_deliveries(&p, ret);
}

void load_plan_done(struct load_plan *plan)
{
	for (int i = 0; i < plan->n_items; i++) {
		free(plan->items[i].notification_id);
		free(plan->items[i].body);
	}
	free(plan->items);
	free(plan->deliveries);
}
