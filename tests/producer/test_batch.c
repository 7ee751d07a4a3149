#include "producer/batch.h"

#include "common/clock.h"
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS = 64 };

/* Items with the names of the checks in them, queued in the order in which they are made. */
struct fixture {
	struct batch_queue queue;
	struct batch_claims *claims;
	struct batch_item items[MAX_ITEMS];
	char names[MAX_ITEMS][2][16];
	int n;
	struct batch_item *chosen[MAX_ITEMS];
};

static void set_up(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	TAILQ_INIT(&f->queue);
	f->claims = batch_claims_new(MAX_ITEMS);
}

static void tear_down(struct fixture *f)
{
	batch_claims_free(f->claims);
}

static struct batch_item *add(
    struct fixture *f, const char *store, const char *id, const char *purchase)
{
	int n = f->n++;
	struct batch_item *item = &f->items[n];

	snprintf(f->names[n][0], sizeof(f->names[n][0]), "%s", id);
	snprintf(f->names[n][1], sizeof(f->names[n][1]), "%s", purchase ? purchase : "");
	*item = (struct batch_item){.store = store,
	    .notification_id = f->names[n][0],
	    .store_purchase_id = purchase ? f->names[n][1] : NULL};
	batch_item_init(item);
	TAILQ_INSERT_TAIL(&f->queue, item, link);
	return item;
}

/* "a b" for the chosen ones. */
static const char *choose(struct fixture *f, size_t max)
{
	static char text[MAX_ITEMS * 16];
	size_t n = batch_choose(&f->queue, f->claims, max, f->chosen), len = 0;

	*text = '\0';
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
		    f->chosen[i]->notification_id);
	return text;
}

static void all_in_order_of_arrival(void)
{
	struct fixture f;

	set_up(&f);
	add(&f, "stripe", "c", "p1");
	add(&f, "stripe", "a", "p2");
	add(&f, "stripe", "b", NULL);
	add(&f, "stripe", "d", NULL);
	CHECK_STR(choose(&f, 3), "c a b");
	CHECK_STR(choose(&f, 3), "d");
	CHECK_STR(choose(&f, 3), "");
	tear_down(&f);
}

static void one_of_a_purchase_one_of_a_notification(void)
{
	struct fixture f;
	struct batch_item *first;

	set_up(&f);
	first = add(&f, "stripe", "a", "p1");
	add(&f, "stripe", "b", "p1");
	add(&f, "stripe", "a", "p2");
	add(&f, "stripe", "c", "p3");
	CHECK_STR(choose(&f, 10), "a c");
	/* What they wait for is under way. */
	CHECK_STR(choose(&f, 10), "");
	batch_release(f.claims, first);
	CHECK_STR(choose(&f, 10), "b a");
	tear_down(&f);
}

static void long_bodies_make_short_batches(void)
{
	struct fixture f;

	set_up(&f);
	add(&f, "stripe", "a", NULL)->bytes = 1000;
	add(&f, "stripe", "b", NULL)->bytes = BATCH_MAX_BYTES - 1000;
	add(&f, "stripe", "c", NULL)->bytes = BATCH_MAX_BYTES + 1;
	add(&f, "stripe", "d", NULL)->bytes = 1;
	CHECK_STR(choose(&f, 10), "a b");
	CHECK_STR(choose(&f, 10), "c");
	CHECK_STR(choose(&f, 10), "d");
	tear_down(&f);
}

static void an_id_belongs_to_its_store(void)
{
	struct fixture f;

	set_up(&f);
	add(&f, "stripe", "a", "p");
	add(&f, "stripe_test", "a", "p");
	/* The id of a notification is not that of a purchase, though the text is the same. */
	add(&f, "stripe", "p", "a");
	CHECK_STR(choose(&f, 10), "a a p");
	tear_down(&f);
}

/* Whatever is queued and however batches end: each item is chosen once, no two that exclude each
 * other are under way at a time, and those of one purchase are chosen as they came. */
static void random_queues(void)
{
	struct rng rng;

	rng_seed(&rng, check_seed());
	for (int round = 0; round < 300; round++) {
		struct fixture f;
		struct batch_item *flying[MAX_ITEMS];
		int last[4] = {-1, -1, -1, -1}, n_flying = 0, done = 0;
		char id[16], purchase[16];

		set_up(&f);
		while (done < MAX_ITEMS) {
			if (f.n < MAX_ITEMS && rng_unit(&rng) < 0.6) {
				snprintf(id, sizeof(id), "n%d", f.n);
				snprintf(
				    purchase, sizeof(purchase), "p%d", (int)(rng_next(&rng) % 4));
				add(&f, "stripe", id, purchase);
			}
			size_t n =
			    batch_choose(&f.queue, f.claims, rng_next(&rng) % 3 + 1, f.chosen);
			for (size_t i = 0; i < n; i++) {
				int order = (int)(f.chosen[i] - f.items);
				int p = f.chosen[i]->store_purchase_id[1] - '0';

				for (int k = 0; k < n_flying; k++)
					CHECK(strcmp(flying[k]->store_purchase_id,
						  f.chosen[i]->store_purchase_id) != 0);
				CHECK(order > last[p]);
				last[p] = order;
				flying[n_flying++] = f.chosen[i];
			}
			if (n_flying > 0 && rng_unit(&rng) < 0.5) {
				int k = (int)(rng_next(&rng) % (uint64_t)n_flying);
				batch_release(f.claims, flying[k]);
				flying[k] = flying[--n_flying];
				done++;
			}
		}
		CHECK(TAILQ_EMPTY(&f.queue));
		tear_down(&f);
	}
}

/* A database: refuses ranges with a culprit in them, is busy for those with a locked one. */
struct database {
	bool culprit[MAX_ITEMS], locked[MAX_ITEMS];
	enum batch_event fate[MAX_ITEMS];
	int calls;
};

static enum batch_event answer(const struct database *d, struct batch_range range)
{
	for (size_t i = range.begin; i < range.end; i++) {
		if (d->locked[i])
			return BATCH_BUSY;
	}
	for (size_t i = range.begin; i < range.end; i++) {
		if (d->culprit[i])
			return BATCH_REFUSED;
	}
	return BATCH_COMMITTED;
}

static void play(struct database *d, size_t n)
{
	struct batch_plan plan;
	struct batch_range range;
	int settled[MAX_ITEMS] = {0};

	batch_plan_init(&plan, n);
	batch_plan_begin(&plan, n);
	while (batch_plan_next(&plan, &range)) {
		enum batch_event event = answer(d, range);
		d->calls++;
		CHECK(range.begin < range.end && range.end <= n);
		if (!batch_plan_settle(&plan, range, event))
			continue;
		for (size_t i = range.begin; i < range.end; i++) {
			d->fate[i] = event;
			settled[i]++;
		}
	}
	for (size_t i = 0; i < n; i++)
		CHECK_INT(settled[i], 1);
	batch_plan_done(&plan);
}

static void a_good_batch_goes_in_one_call(void)
{
	struct database d = {.calls = 0};

	play(&d, 64);
	CHECK_INT(d.calls, 1);
}

static void the_culprit_ends_up_alone(void)
{
	struct database d = {.calls = 0};

	d.culprit[37] = true;
	play(&d, 64);
	for (int i = 0; i < 64; i++)
		CHECK_INT(d.fate[i], i == 37 ? BATCH_REFUSED : BATCH_COMMITTED);
	CHECK_INT(d.calls, 1 + 2 * 6);
}

static void a_lock_fails_no_neighbour(void)
{
	struct database d = {.calls = 0};

	d.locked[2] = true;
	play(&d, 4);
	for (int i = 0; i < 4; i++)
		CHECK_INT(d.fate[i], i == 2 ? BATCH_BUSY : BATCH_COMMITTED);
	CHECK_INT(d.calls, 2 + 4);
}

static void one_alone_is_tried_twice(void)
{
	struct database d = {.calls = 0};

	d.locked[0] = true;
	play(&d, 1);
	CHECK_INT(d.fate[0], BATCH_BUSY);
	CHECK_INT(d.calls, 2);
}

static void random_databases(void)
{
	struct rng rng;

	rng_seed(&rng, check_seed());
	for (int round = 0; round < 500; round++) {
		struct database d = {.calls = 0};
		size_t n = rng_next(&rng) % MAX_ITEMS + 1;

		for (size_t i = 0; i < n; i++) {
			d.culprit[i] = rng_unit(&rng) < 0.05;
			d.locked[i] = rng_unit(&rng) < 0.02;
		}
		play(&d, n);
		for (size_t i = 0; i < n; i++) {
			enum batch_event want = BATCH_COMMITTED;
			if (d.culprit[i])
				want = BATCH_REFUSED;
			if (d.locked[i])
				want = BATCH_BUSY;
			CHECK_INT(d.fate[i], want);
		}
	}
}

static void what_an_error_asks_for(void)
{
	static const struct {
		const char *sqlstate;
		enum err_kind kind;
		enum batch_event event;
	} rows[] = {
	    {"55P03", ERR_RETRY, BATCH_BUSY},
	    {"40P01", ERR_RETRY, BATCH_BUSY},
	    {"40001", ERR_RETRY, BATCH_BUSY},
	    {"57014", ERR_RETRY, BATCH_LOST},
	    {"", ERR_RETRY, BATCH_LOST},
	    {"P0001", ERR_REJECT, BATCH_REFUSED},
	    {"22021", ERR_REJECT, BATCH_REFUSED},
	    {"XX000", ERR_FATAL, BATCH_REFUSED},
	    {"UMV03", ERR_FATAL, BATCH_LOST},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {.kind = rows[i].kind};

		memcpy(err.sqlstate, rows[i].sqlstate, strlen(rows[i].sqlstate));
		CHECK_INT(batch_event_of(&err), rows[i].event);
	}
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"all in order of arrival", all_in_order_of_arrival},
	    {"one of a purchase, one of a notification", one_of_a_purchase_one_of_a_notification},
	    {"long bodies make short batches", long_bodies_make_short_batches},
	    {"an id belongs to its store", an_id_belongs_to_its_store},
	    {"random queues", random_queues},
	    {"a good batch goes in one call", a_good_batch_goes_in_one_call},
	    {"the culprit ends up alone", the_culprit_ends_up_alone},
	    {"a lock fails no neighbour", a_lock_fails_no_neighbour},
	    {"one alone is tried twice", one_alone_is_tried_twice},
	    {"random databases", random_databases},
	    {"what an error asks for", what_an_error_asks_for},
	    {NULL, NULL},
	};

	return check_main("producer batch", checks, argc, argv);
}
