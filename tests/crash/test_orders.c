/*
 * What happened to a purchase, told in every order: one end state, the account included, in
 * purchase and in entitlement.
 */
#include "tests/crash/stack.h"
#include "tests/support/die.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <stdlib.h>

#define EVENTS 5
#define ORDERS 120 /* 5! */
#define THREADS 4
#define BEGIN_MS INT64_C(1767225600000)

enum happening { STARTED, RENEWED, CANCELED, REFUNDED, NOTED };

struct event {
	int after_ms;
	int period;   /* whose payment it is about */
	bool account; /* it names the account */
};

struct scenario {
	const char *name;
	bool google; /* else Apple */
	struct event events[EVENTS];
	const char *state, *will_renew, *account; /* in the end, as PostgreSQL prints it */
	int newest;                               /* the event that the purchase ends with */
};

#define ACCOUNT "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"

/* Indexed by enum happening. At equal times the rank of the kind decides. */
static const struct scenario scenarios[] = {
    {"one after the other", false,
	{{1, 1, true}, {2, 2, true}, {3, 2, true}, {4, 2, true}, {5, 2, true}}, "refunded", "f",
	ACCOUNT, NOTED},
    {"all at one time", false,
	{{1, 1, true}, {1, 2, true}, {1, 2, true}, {1, 2, true}, {1, 2, true}}, "refunded", "f",
	ACCOUNT, REFUNDED},
    {"renewal and refund at one time", false,
	{{1, 1, true}, {2, 2, false}, {3, 2, false}, {2, 2, false}, {3, 2, false}}, "refunded", "f",
	ACCOUNT, CANCELED},
    {"the first period is refunded", false,
	{{1, 1, true}, {2, 2, true}, {3, 2, true}, {4, 1, true}, {5, 2, true}}, "active", "f",
	ACCOUNT, NOTED},
    {"only the note names the account", false,
	{{1, 1, false}, {2, 2, false}, {4, 2, false}, {5, 2, false}, {3, 2, true}}, "refunded", "f",
	ACCOUNT, REFUNDED},
    {"only the first names the account, at one time", false,
	{{1, 1, true}, {1, 2, false}, {1, 2, false}, {1, 2, false}, {1, 2, false}}, "refunded", "f",
	ACCOUNT, REFUNDED},
    {"at Google, one after the other", true,
	{{1, 1, false}, {2, 2, false}, {3, 2, false}, {4, 2, false}, {5, 2, false}}, "refunded",
	"f", NULL, NOTED},
    {"at Google, all at one time", true,
	{{1, 1, false}, {1, 2, false}, {1, 2, false}, {1, 2, false}, {1, 2, false}}, "refunded",
	"f", NULL, REFUNDED},
};

#define SCENARIOS (int)(sizeof(scenarios) / sizeof(scenarios[0]))

/* The n-th permutation of 0 ... EVENTS-1: n's digits in the factorial number system choose. */
static void nth_order(int n, int *order)
{
	int left[EVENTS];

	for (int i = 0; i < EVENTS; i++)
		left[i] = i;
	for (int i = 0; i < EVENTS; i++) {
		int choices = EVENTS - i, chosen = n % choices;

		n /= choices;
		order[i] = left[chosen];
		left[chosen] = left[choices - 1];
	}
}

/* The event comes first in every id, so that ids of one purchase compare as those of any other. */
static char *make_apple(struct signer *signer, int scenario, int order, enum happening what)
{
	static const char *const types[EVENTS][2] = {{"SUBSCRIBED", "INITIAL_BUY"},
	    {"DID_RENEW", NULL}, {"DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"},
	    {"REFUND", NULL}, {"CONSUMPTION_REQUEST", NULL}};
	const struct event *e = &scenarios[scenario].events[what];
	char *uuid = text_format("%08d-0000-4000-8000-%06d%06d", what + 1, scenario, order);
	char *purchase = text_format("%d%03d", scenario + 1, order);
	char *transaction = text_format("%s%d", purchase, e->period);
	struct apple_spec spec = {.uuid = uuid,
	    .type = types[what][0],
	    .subtype = types[what][1],
	    .original_transaction_id = purchase,
	    .transaction_id = transaction,
	    .product_id = "monthly",
	    .account_token = e->account ? ACCOUNT : NULL,
	    .signed_date = BEGIN_MS + e->after_ms,
	    .purchase_date = BEGIN_MS + e->period,
	    .expires_date = BEGIN_MS + e->period * INT64_C(86400000),
	    .price_milliunits = 4990 + e->period,
	    .currency = "EUR",
	    .auto_renew = -1};
	char *body = apple_body(signer, &spec);

	free(uuid);
	free(purchase);
	free(transaction);
	return body;
}

static char *make_google(int scenario, int order, enum happening what)
{
	static const int types[EVENTS] = {4, 2, 3, 0, 8};
	int64_t at_ms = BEGIN_MS + scenarios[scenario].events[what].after_ms;
	char *id = text_format("%d%02d%06d", what + 1, scenario, order);
	char *purchase = text_format("%d%03d", scenario + 1, order), *rtdn, *body;

	if (what == REFUNDED)
		rtdn = text_format("{\"version\":\"1.0\",\"packageName\":\"" SIGNER_PACKAGE
				   "\",\"eventTimeMillis\":\"%lld\",\"voidedPurchaseNotification\":"
				   "{\"purchaseToken\":\"%s\",\"orderId\":\"GPA.%s\","
				   "\"productType\":1,\"refundType\":1}}",
		    (long long)at_ms, purchase, purchase);
	else
		rtdn = google_subscription(types[what], purchase, "monthly", at_ms);
	body = google_body(id, rtdn);
	free(id);
	free(purchase);
	free(rtdn);
	return body;
}

/* Tells its part of the orders, each purchase's events one after the other. */
struct teller {
	struct stack *stack;
	int number;
	pthread_t thread;
	int refused;
};

static int tell(struct stack *s, int scenario, int order, enum happening what)
{
	struct signer *signer = world_signer(s->world);
	const char *url = proc_url(s->producer);
	char *body, *answer = NULL;
	int status;

	if (scenarios[scenario].google) {
		body = make_google(scenario, order, what);
		status = post_google(signer, url, body, &answer);
	} else {
		body = make_apple(signer, scenario, order, what);
		status = post_apple(url, body, &answer);
	}
	if (status != 200)
		fprintf(stderr, "%d %s\n", status, answer ? answer : "");
	free(body);
	free(answer);
	return status;
}

static void *run_teller(void *ctx)
{
	struct teller *t = ctx;
	int order[EVENTS];

	for (int i = t->number; i < SCENARIOS * ORDERS; i += THREADS) {
		nth_order(i % ORDERS, order);
		for (int k = 0; k < EVENTS; k++)
			t->refused +=
			    tell(t->stack, i / ORDERS, i % ORDERS, (enum happening)order[k]) != 200;
	}
	return NULL;
}

static void tell_all(struct stack *s)
{
	struct teller tellers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		tellers[i] = (struct teller){.stack = s, .number = i};
		if (pthread_create(&tellers[i].thread, NULL, run_teller, &tellers[i]) != 0)
			die("cannot start a thread");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(tellers[i].thread, NULL);
	for (int i = 0; i < THREADS; i++)
		CHECK_INT(tellers[i].refused, 0);
}

/* All orders gave the same row, in `columns`, and it is the one that was foreseen. newest: the
 * column that names the last notification; its id begins with the event, and ends with the order.
 */
static void check_table(
    struct stack *s, int number, const char *table, const char *columns, const char *newest)
{
	const struct scenario *scenario = &scenarios[number];
	char *account =
	    scenario->account ? text_format("= '%s'", scenario->account) : text_format("IS NULL");
	char *which = text_format("store_purchase_id LIKE '%d___'", number + 1);

	CHECK_INT(world_int(s->world, "SELECT count(*) FROM %s WHERE %s", table, which), ORDERS);
	CHECK_INT(world_int(s->world, "SELECT count(DISTINCT (%s, left(%s, -6))) FROM %s WHERE %s",
		      columns, newest, table, which),
	    1);
	CHECK_INT(world_int(s->world,
		      "SELECT count(*) FROM %s WHERE %s AND state = '%s' "
		      "AND will_renew = '%s' AND account_ref %s "
		      "AND substring(%s FROM '^(?:.*/)?0*([1-9])')::int - 1 = %d",
		      table, which, scenario->state, scenario->will_renew, account, newest,
		      scenario->newest),
	    ORDERS);
	free(account);
	free(which);
}

static void check_scenario(struct stack *s, int number)
{
	printf("\n    %s", scenarios[number].name);
	check_table(s, number, "intake.purchase",
	    "product_id, account_ref, state, will_renew, expires_at, right(transaction_id, 1), "
	    "amount_minor, currency, occurred_at, rank",
	    "last_notification_id");
	check_table(s, number, "effects.entitlement",
	    "product_id, account_ref, state, will_renew, expires_at, occurred_at, rank",
	    "notification_id");
}

static void every_order(void)
{
	struct stack s;

	stack_start(&s);
	tell_all(&s);
	stack_check(&s, 0);
	for (int i = 0; i < SCENARIOS; i++)
		check_scenario(&s, i);
	/* Two payments and a refund. */
	CHECK_INT(
	    world_int(s.world, "SELECT count(*) FROM effects.ledger"), 3 * ORDERS * SCENARIOS);
	stack_close(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"every order of arrival gives one end state", every_order},
	    {NULL, NULL},
	};

	return check_main("crash orders", checks, argc, argv);
}
