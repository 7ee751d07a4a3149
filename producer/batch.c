#include "producer/batch.h"

#include "common/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CLAIM_NOTIFICATION, CLAIM_PURCHASE };

struct batch_claims {
	struct batch_claim **buckets;
	size_t mask;
};

struct batch_claims *batch_claims_new(size_t max_items)
{
	struct batch_claims *c = mem_zalloc(1, sizeof(*c));
	size_t n = 64;

	while (n < 2 * max_items)
		n *= 2;
	c->buckets = mem_zalloc(n, sizeof(struct batch_claim *));
	c->mask = n - 1;
	return c;
}

void batch_claims_free(struct batch_claims *c)
{
	if (!c)
		return;
	free(c->buckets);
	free(c);
}

/* FNV-1a, 64 bits. Ids are signed by a store: nobody chooses them to collide. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	} while (*text++);
	return hash;
}

static void claim_init(struct batch_claim *claim, const char *store, const char *id, bool purchase)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) + purchase;

	*claim = (struct batch_claim){.store = store, .id = id, .purchase = purchase};
	if (id)
		claim->hash = hash_text(hash_text(hash, store), id);
}

void batch_item_init(struct batch_item *item)
{
	claim_init(&item->claims[CLAIM_NOTIFICATION], item->store, item->notification_id, false);
	claim_init(&item->claims[CLAIM_PURCHASE], item->store, item->store_purchase_id, true);
}

static bool same(const struct batch_claim *a, const struct batch_claim *b)
{
	return a->hash == b->hash && a->purchase == b->purchase && strcmp(a->id, b->id) == 0 &&
	       strcmp(a->store, b->store) == 0;
}

static bool is_taken(const struct batch_claims *c, const struct batch_claim *claim)
{
	const struct batch_claim *at = c->buckets[claim->hash & c->mask];

	while (at && !same(at, claim))
		at = at->next;
	return at != NULL;
}

static void take(struct batch_claims *c, struct batch_claim *claim)
{
	struct batch_claim **bucket = &c->buckets[claim->hash & c->mask];

	claim->next = *bucket;
	*bucket = claim;
}

static void give_back(struct batch_claims *c, struct batch_claim *claim)
{
	struct batch_claim **at = &c->buckets[claim->hash & c->mask];

	while (*at != claim)
		at = &(*at)->next;
	*at = claim->next;
}

static bool try_take(struct batch_claims *c, struct batch_item *item)
{
	struct batch_claim *notification = &item->claims[CLAIM_NOTIFICATION];
	struct batch_claim *purchase = &item->claims[CLAIM_PURCHASE];

	if (is_taken(c, notification) || (purchase->id && is_taken(c, purchase)))
		return false;
	take(c, notification);
	if (purchase->id)
		take(c, purchase);
	return true;
}

size_t batch_choose(struct batch_queue *queue, struct batch_claims *claims, size_t max,
    struct batch_item **ret_items)
{
	struct batch_item *item, *next;
	size_t n = 0, bytes = 0;

	for (item = TAILQ_FIRST(queue); item && n < max; item = next) {
		next = TAILQ_NEXT(item, link);
		if (n > 0 && bytes + item->bytes > BATCH_MAX_BYTES)
			break;
		if (!try_take(claims, item))
			continue;
		bytes += item->bytes;
		TAILQ_REMOVE(queue, item, link);
		ret_items[n++] = item;
	}
	return n;
}

void batch_release(struct batch_claims *claims, struct batch_item *item)
{
	give_back(claims, &item->claims[CLAIM_NOTIFICATION]);
	if (item->claims[CLAIM_PURCHASE].id)
		give_back(claims, &item->claims[CLAIM_PURCHASE]);
}

void batch_plan_init(struct batch_plan *plan, size_t max_items)
{
	plan->stack = mem_zalloc(max_items, sizeof(*plan->stack));
	plan->n = 0;
}

void batch_plan_done(struct batch_plan *plan)
{
	free(plan->stack);
}

enum batch_event batch_event_of(const struct err *err)
{
	/* lock timeout, deadlock, serialisation failure */
	static const char *const busy[] = {"55P03", "40P01", "40001"};

	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++) {
		if (strcmp(err->sqlstate, busy[i]) == 0)
			return BATCH_BUSY;
	}
	/* UMV03: this is another cluster than the outbox was written in, whatever is sent to it. */
	if (err->kind == ERR_RETRY || strcmp(err->sqlstate, "UMV03") == 0)
		return BATCH_LOST;
	return BATCH_REFUSED;
}

static void push(struct batch_plan *plan, size_t begin, size_t end, bool again)
{
	plan->stack[plan->n++] = (struct batch_range){begin, end, again};
}

void batch_plan_begin(struct batch_plan *plan, size_t n_items)
{
	assert(n_items > 0);
	plan->n = 0;
	push(plan, 0, n_items, false);
}

bool batch_plan_next(struct batch_plan *plan, struct batch_range *ret_range)
{
	if (plan->n == 0)
		return false;
	*ret_range = plan->stack[--plan->n];
	return true;
}

/* The ranges on the stack are disjoint, so there is room for them. */
bool batch_plan_settle(struct batch_plan *plan, struct batch_range range, enum batch_event event)
{
	size_t n = range.end - range.begin;

	if (event == BATCH_REFUSED && n > 1) {
		push(plan, range.begin + n / 2, range.end, false);
		push(plan, range.begin, range.begin + n / 2, false);
		return false;
	}
	if (event == BATCH_BUSY && !range.again) {
		push(plan, range.begin, range.end, true);
		return false;
	}
	if (event == BATCH_BUSY && n > 1) {
		for (size_t i = range.end; i > range.begin; i--)
			push(plan, i - 1, i, true);
		return false;
	}
	return true;
}
