/*
 * PostgreSQL crashes and comes back, again and again, under load: the services get over it alone,
 * the producer says 503 for as long as it lasts, and nothing is lost or doubled.
 */
#include "common/clock.h"
#include "tests/crash/stack.h"
#include "tests/support/http.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OUTAGES 10
#define NOTIFICATIONS 600
#define PER_SECOND 200
#define LONGEST_MS 1500

/* A refusal is for now: the store is to come again soon, and learns it soon. */
#define REFUSED_WITHIN_MS 5000

struct mark {
	const struct load *load;
	int deliveries;
};

static bool is_reached(void *ctx)
{
	const struct mark *mark = ctx;

	return load_done(mark->load) >= mark->deliveries;
}

/* Post what cannot be kept now. */
static void check_refusal(const struct stack *s, int outage)
{
	char *id = text_format("evt_outage_%d", outage);
	char *event = stripe_event(id, "customer.subscription.created", 1, time(NULL),
	    "{\"object\":\"subscription\",\"id\":\"sub_outage\"}");
	char *signature = sign_stripe(SIGNER_STRIPE_SECRET, time(NULL), event, strlen(event));
	char *header = text_format("Stripe-Signature: %s", signature);
	char *url = text_format("%s/webhooks/stripe", proc_url(s->producer));
	const char *const headers[] = {"Content-Type: application/json", header, NULL};
	struct http_answer answer;
	int64_t started_ms = now_ms();
	char *retry_after;

	http_request("POST", url, headers, event, strlen(event), STACK_WAIT_MS, &answer);
	retry_after = http_header(&answer, "Retry-After");
	CHECK_INT(answer.status, 503);
	CHECK(retry_after != NULL);
	CHECK(now_ms() - started_ms < REFUSED_WITHIN_MS);
	free(retry_after);
	http_answer_done(&answer);
	free(id);
	free(event);
	free(signature);
	free(header);
	free(url);
}

static void outage(struct stack *s, struct rng *rng, int number)
{
	world_pg_stop(s->world, "immediate");
	check_refusal(s, number);
	sleep_ms((int64_t)(rng_next(rng) % LONGEST_MS));
	world_pg_start(s->world);
}

static void outages_under_load(void)
{
	struct stack s;
	struct load *load;
	struct rng rng;

	rng_seed(&rng, check_seed());
	stack_start(&s);
	load = stack_load(&s, check_seed(), stack_scaled(NOTIFICATIONS), PER_SECOND);
	for (int i = 0; i < OUTAGES; i++) {
		/* The first answers after each outage come before the next. */
		struct mark mark = {load, load_deliveries(load) * (i + 1) / (OUTAGES + 2)};

		CHECK(await(is_reached, &mark, STACK_WAIT_MS));
		outage(&s, &rng, i);
	}
	stack_finish(&s, load, 0);
	CHECK_INT(world_int(s.world, "SELECT count(*) FROM intake.notification "
				     "WHERE notification_id LIKE 'evt_outage_%%'"),
	    0);
	CHECK(proc_await_ready(s.producer, STACK_WAIT_MS));
	CHECK(proc_await_ready(s.relay, STACK_WAIT_MS));
	CHECK(proc_await_ready(s.consumer, STACK_WAIT_MS));
	stack_close(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"PostgreSQL crashes ten times under load", outages_under_load},
	    {NULL, NULL},
	};

	return check_main("crash database_outage", checks, argc, argv);
}
