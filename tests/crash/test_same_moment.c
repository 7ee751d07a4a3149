/*
 * One notification, posted by many at the same moment: all of them are told that it is kept, one of
 * them that it is new, and it has one row of each kind and one effect.  B21.
 */
#include "tests/crash/stack.h"
#include "tests/support/die.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CROWD 50
#define EVENTS 1000
#define EVENTS_AT_ONCE 5

struct event {
	enum load_store store;
	char *body;
};

/* One request, in a thread of its own, released together with the others. */
struct post {
	struct signer *signer;
	const char *url;
	const struct event *event;
	pthread_barrier_t *start;
	pthread_t thread;
	int status;
	char *answer;
};

/* Each is the first payment for a purchase of its own. */
static struct event make_event(struct signer *signer, enum load_store store, int number)
{
	char *id = text_format("00000000-0000-4000-8000-%012d", number);
	char *purchase = text_format("90%06d", number), *inner = NULL;
	struct event e = {.store = store};
	struct apple_spec spec = {.uuid = id,
	    .type = "SUBSCRIBED",
	    .original_transaction_id = purchase,
	    .transaction_id = purchase,
	    .product_id = "monthly",
	    .price_milliunits = 4990,
	    .currency = "EUR",
	    .auto_renew = 1};

	if (store == LOAD_APP_STORE) {
		e.body = apple_body(signer, &spec);
	} else if (store == LOAD_GOOGLE_PLAY) {
		inner = google_subscription(4, purchase, "monthly", INT64_C(1767225600000));
		e.body = google_body(purchase, inner);
	} else {
		inner =
		    text_format("{\"object\":\"invoice\",\"id\":\"in_%s\",\"amount_paid\":999,"
				"\"billing_reason\":\"subscription_create\",\"currency\":\"eur\","
				"\"parent\":{\"type\":\"subscription_details\","
				"\"subscription_details\":{\"subscription\":\"sub_%s\"}}}",
			purchase, purchase);
		e.body = stripe_event(id, "invoice.paid", 1, time(NULL), inner);
	}
	free(id);
	free(purchase);
	free(inner);
	return e;
}

static void *run_post(void *ctx)
{
	struct post *p = ctx;

	pthread_barrier_wait(p->start);
	if (p->event->store == LOAD_APP_STORE)
		p->status = post_apple(p->url, p->event->body, &p->answer);
	else if (p->event->store == LOAD_GOOGLE_PLAY)
		p->status = post_google(p->signer, p->url, p->event->body, &p->answer);
	else
		p->status = post_stripe(p->url, p->event->body, &p->answer);
	return NULL;
}

static void post_at_once(struct signer *signer, struct post *posts, int n)
{
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, (unsigned)n);
	for (int i = 0; i < n; i++) {
		posts[i].signer = signer;
		posts[i].start = &start;
		if (pthread_create(&posts[i].thread, NULL, run_post, &posts[i]) != 0)
			die("cannot start a thread");
	}
	for (int i = 0; i < n; i++)
		pthread_join(posts[i].thread, NULL);
	pthread_barrier_destroy(&start);
}

static bool says(const struct post *p, const char *outcome)
{
	return p->answer != NULL && strstr(p->answer, outcome) != NULL;
}

/* All 200; how many of them said that it is new. */
static int check_answers(struct post *posts, int n)
{
	int accepted = 0;

	for (int i = 0; i < n; i++) {
		CHECK_INT(posts[i].status, 200);
		CHECK(says(&posts[i], "\"accepted\"") || says(&posts[i], "\"duplicate\""));
		accepted += says(&posts[i], "\"accepted\"");
		free(posts[i].answer);
	}
	return accepted;
}

/* n of each kind, of this store or ('%') of all. */
static void check_rows(struct stack *s, const char *store, int n)
{
	static const struct {
		const char *table, *column;
	} kinds[] = {{"intake.notification", "store"}, {"intake.purchase", "store"},
	    {"intake.outbox", "source"}, {"effects.inbox", "source"}, {"effects.ledger", "store"},
	    {"effects.entitlement", "store"}, {"witness.effect", "source"}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		CHECK_INT(world_int(s->world, "SELECT count(*) FROM %s WHERE %s LIKE '%s'",
			      kinds[i].table, kinds[i].column, store),
		    n);
}

static void fifty_identical_posts(void)
{
	struct stack s;

	stack_start(&s);
	for (enum load_store store = 0; store < LOAD_STORES; store++) {
		struct event event = make_event(world_signer(s.world), store, 1);
		struct post posts[CROWD];

		for (int i = 0; i < CROWD; i++)
			posts[i] = (struct post){.url = proc_url(s.producer), .event = &event};
		post_at_once(world_signer(s.world), posts, CROWD);
		CHECK_INT(check_answers(posts, CROWD), 1);
		free(event.body);
	}
	stack_check(&s, 0);
	for (enum load_store store = 0; store < LOAD_STORES; store++)
		check_rows(&s, load_store_name(store), 1);
	stack_close(&s);
}

/* Some events, each to both producers. */
static void post_to_both(struct stack *s, const char *const *urls, int first)
{
	struct signer *signer = world_signer(s->world);
	struct event events[EVENTS_AT_ONCE];
	struct post posts[2 * EVENTS_AT_ONCE];

	for (int i = 0; i < EVENTS_AT_ONCE; i++) {
		events[i] =
		    make_event(signer, (enum load_store)((first + i) % LOAD_STORES), first + i);
		for (int k = 0; k < 2; k++)
			posts[2 * i + k] =
			    (struct post){.url = urls[(i + k) % 2], .event = &events[i]};
	}
	post_at_once(signer, posts, 2 * EVENTS_AT_ONCE);
	for (int i = 0; i < EVENTS_AT_ONCE; i++) {
		CHECK_INT(check_answers(&posts[2 * i], 2), 1);
		free(events[i].body);
	}
}

static void two_producers_at_once(void)
{
	int n = stack_scaled(EVENTS / EVENTS_AT_ONCE) * EVENTS_AT_ONCE;
	struct proc *second;
	struct stack s;

	stack_start(&s);
	second = stack_producer(&s, NULL, NULL);
	CHECK(proc_await_ready(second, STACK_WAIT_MS));
	const char *const urls[] = {proc_url(s.producer), proc_url(second)};
	for (int i = 0; i < n; i += EVENTS_AT_ONCE)
		post_to_both(&s, urls, i);
	stack_check(&s, 0);
	check_rows(&s, "%", n);
	stack_close(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B21 fifty identical posts of each store", fifty_identical_posts},
	    {"each event to two producers at once", two_producers_at_once},
	    {NULL, NULL},
	};

	return check_main("crash same_moment", checks, argc, argv);
}
