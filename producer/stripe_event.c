#include "producer/stripe_event.h"

#include "producer/json.h"

#include <string.h>
#include <time.h>

struct event {
	const json_t *object;   /* data.object, with an id */
	const json_t *previous; /* data.previous_attributes, or NULL */
};

/* The first that is there, as a string or as an expanded object's id; paths ends with NULL. */
static const char *find_ref(const json_t *object, const char *const *paths)
{
	for (; *paths; paths++) {
		const json_t *value = json_at(object, *paths);
		const char *id = json_is_object(value) ? json_get_string(value, "id")
						       : json_get_string(object, *paths);

		if (id)
			return id;
	}
	return NULL;
}

#define REF(object, ...) find_ref(object, (const char *const[]){__VA_ARGS__, NULL})

static void set_amount(struct notification *n, const json_t *object, const char *path)
{
	const json_t *amount = json_at(object, path);

	if (!amount || json_is_null(amount))
		return;
	if (!json_is_integer(amount) ||
	    !notification_set_currency(n, json_get_string(object, "currency"))) {
		notification_set(&n->remark, "its amount cannot be read and was left out");
		return;
	}
	n->has_amount = true;
	n->amount_minor = json_integer_value(amount);
}

/* A member in whole seconds, as milliseconds. */
static bool get_seconds(const json_t *object, const char *path, int64_t *ret_ms)
{
	int64_t seconds;

	return json_get_int(object, path, &seconds) &&
	       !__builtin_mul_overflow(seconds, (int64_t)1000, ret_ms);
}

static void set_customer(struct notification *n, const json_t *object)
{
	notification_set(&n->account_ref, REF(object, "customer"));
}

static void set_outcome(struct notification *n, enum kind kind, enum state state)
{
	n->kind = kind;
	n->state = state;
}

/* --- checkout.session ---------------------------------------------------------------------- */

static void read_checkout(const json_t *session, struct notification *n)
{
	const char *mode = json_get_string(session, "mode");

	if (mode && strcmp(mode, "setup") == 0)
		return;
	notification_set(&n->store_purchase_id, REF(session, "subscription", "payment_intent"));
	/* With a subscription the invoice, as in its invoice.paid; else the payment, as in its
	 * payment_intent.succeeded: one ledger entry for the two of them. */
	notification_set(&n->transaction_id, REF(session, "invoice", "payment_intent"));
	notification_set(&n->product_id, REF(session, "line_items.data.0.price.product"));
	/* The app's own reference only where there is no customer: every other event of a
	 * customer's purchase names the customer, and the owner must not change from one to the
	 * next. */
	notification_set(&n->account_ref, REF(session, "customer", "client_reference_id"));
}

static void read_checkout_completed(const struct event *e, struct notification *n)
{
	const char *status = json_get_string(e->object, "payment_status");

	read_checkout(e->object, n);
	if (status && (strcmp(status, "paid") == 0 || strcmp(status, "no_payment_required") == 0)) {
		set_outcome(n, KIND_STARTED, STATE_ACTIVE);
		set_amount(n, e->object, "amount_total");
	} else {
		set_outcome(n, KIND_PENDING, STATE_PENDING);
	}
}

static void read_checkout_failed(const struct event *e, struct notification *n)
{
	read_checkout(e->object, n);
	set_outcome(n, KIND_PENDING_CANCELED, STATE_VOID);
}

/* --- invoice ------------------------------------------------------------------------------- */

static void read_invoice(const json_t *invoice, struct notification *n)
{
	int64_t quantity;

	notification_set(&n->store_purchase_id,
	    REF(invoice, "subscription", "parent.subscription_details.subscription"));
	notification_set(&n->transaction_id, json_get_string(invoice, "id"));
	notification_set(&n->product_id,
	    REF(invoice, "lines.data.0.price.product", "lines.data.0.pricing.price_details.product",
		"lines.data.0.plan.product"));
	if (json_get_int(invoice, "lines.data.0.quantity", &quantity))
		n->quantity = quantity;
	set_customer(n, invoice);
}

static void read_invoice_paid(const struct event *e, struct notification *n)
{
	const char *reason = json_get_string(e->object, "billing_reason");

	read_invoice(e->object, n);
	if (!n->store_purchase_id)
		notification_set(&n->store_purchase_id, json_get_string(e->object, "id"));
	set_amount(n, e->object, "amount_paid");
	set_outcome(n,
	    reason && strcmp(reason, "subscription_create") == 0 ? KIND_STARTED : KIND_RENEWED,
	    STATE_ACTIVE);
}

static void read_invoice_failed(const struct event *e, struct notification *n)
{
	const json_t *next = json_at(e->object, "next_payment_attempt");

	read_invoice(e->object, n);
	if (!next || json_is_null(next))
		set_outcome(n, KIND_ON_HOLD, STATE_ON_HOLD);
	else
		set_outcome(n, KIND_GRACE_STARTED, STATE_GRACE);
}

/* --- customer.subscription ----------------------------------------------------------------- */

/* What a status means for a new subscription. */
static void set_status(struct notification *n, const char *status)
{
	static const struct {
		const char *status;
		enum kind kind;
		enum state state;
	} table[] = {
	    {"active", KIND_STARTED, STATE_ACTIVE},
	    {"trialing", KIND_STARTED, STATE_ACTIVE},
	    {"past_due", KIND_GRACE_STARTED, STATE_GRACE},
	    {"unpaid", KIND_ON_HOLD, STATE_ON_HOLD},
	    {"paused", KIND_PAUSED, STATE_PAUSED},
	    {"canceled", KIND_EXPIRED, STATE_EXPIRED},
	    {"incomplete", KIND_PENDING, STATE_PENDING},
	    {"incomplete_expired", KIND_PENDING_CANCELED, STATE_VOID},
	};

	for (size_t i = 0; status && i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].status, status) == 0)
			set_outcome(n, table[i].kind, table[i].state);
}

static void set_will_renew(struct notification *n, const json_t *subscription)
{
	const json_t *at_end = json_at(subscription, "cancel_at_period_end");

	if (json_is_true(at_end) || n->state == STATE_EXPIRED || n->state == STATE_VOID)
		n->will_renew = RENEW_NO;
	else if (json_is_false(at_end))
		n->will_renew = RENEW_YES;
}

/* It moves no money by itself, so it has no transaction: that is its invoice's. */
static void read_subscription(const json_t *subscription, struct notification *n)
{
	notification_set(&n->store_purchase_id, json_get_string(subscription, "id"));
	notification_set(&n->product_id, REF(subscription, "items.data.0.price.product",
					     "items.data.0.plan.product", "plan.product"));
	set_customer(n, subscription);
	if (!json_get_int(subscription, "quantity", &n->quantity))
		(void)json_get_int(subscription, "items.data.0.quantity", &n->quantity);
	if (!get_seconds(subscription, "current_period_end", &n->expires_at))
		(void)get_seconds(subscription, "items.data.0.current_period_end", &n->expires_at);
	set_status(n, json_get_string(subscription, "status"));
}

static void read_subscription_created(const struct event *e, struct notification *n)
{
	read_subscription(e->object, n);
	set_will_renew(n, e->object);
}

static void read_subscription_updated(const struct event *e, struct notification *n)
{
	read_subscription(e->object, n);
	set_will_renew(n, e->object);
	if (n->state != STATE_ACTIVE)
		return;
	if (!json_at(e->previous, "cancel_at_period_end"))
		n->kind = KIND_CHANGED;
	else
		n->kind = n->will_renew == RENEW_NO ? KIND_CANCELED : KIND_UNCANCELED;
}

static void read_subscription_deleted(const struct event *e, struct notification *n)
{
	read_subscription(e->object, n);
	set_outcome(n, KIND_EXPIRED, STATE_EXPIRED);
	set_will_renew(n, e->object);
}

static void read_subscription_paused(const struct event *e, struct notification *n)
{
	read_subscription(e->object, n);
	set_outcome(n, KIND_PAUSED, STATE_PAUSED);
	set_will_renew(n, e->object);
}

static void read_subscription_resumed(const struct event *e, struct notification *n)
{
	read_subscription(e->object, n);
	n->kind = KIND_UNCANCELED;
	set_will_renew(n, e->object);
}

/* --- charge and payment_intent ------------------------------------------------------------- */

static void read_refund(const struct event *e, struct notification *n)
{
	int64_t total, before;

	notification_set(&n->store_purchase_id,
	    REF(e->object, "invoice.subscription",
		"invoice.parent.subscription_details.subscription", "payment_intent", "invoice"));
	set_customer(n, e->object);
	n->partial = !json_get_true(e->object, "refunded");
	set_outcome(n, KIND_REFUNDED, n->partial ? STATE_SAME : STATE_REFUNDED);
	set_amount(n, e->object, "amount_refunded");
	if (!json_get_int(e->object, "amount_refunded", &total))
		return;
	/* Partial refunds of one charge repeat; their running total does not. */
	notification_setf(
	    &n->transaction_id, "%s@%lld", json_get_string(e->object, "id"), (long long)total);
	if (json_get_int(e->previous, "amount_refunded", &before) && before >= 0 && before < total)
		n->amount_minor = total - before;
}

static void read_dispute(const struct event *e, struct notification *n)
{
	notification_set(&n->store_purchase_id, REF(e->object, "payment_intent"));
}

static void read_dispute_closed(const struct event *e, struct notification *n)
{
	const char *status = json_get_string(e->object, "status");

	read_dispute(e, n);
	if (!status || strcmp(status, "lost") != 0)
		return;
	set_outcome(n, KIND_REVOKED, STATE_REVOKED);
	notification_set(&n->transaction_id, REF(e->object, "charge"));
	set_amount(n, e->object, "amount");
}

/* An invoice's payment is told by the invoice. Since basil the payment intent says so only in
 * payment_details.order_reference. */
static bool is_of_invoice(const json_t *payment)
{
	const char *order = json_get_string(payment, "payment_details.order_reference");

	return REF(payment, "invoice") || (order && strncmp(order, "in_", 3) == 0);
}

static void read_payment(const struct event *e, struct notification *n)
{
	if (is_of_invoice(e->object))
		return;
	notification_set(&n->store_purchase_id, json_get_string(e->object, "id"));
	notification_set(&n->transaction_id, json_get_string(e->object, "id"));
	set_customer(n, e->object);
	set_outcome(n, KIND_STARTED, STATE_ACTIVE);
	set_amount(
	    n, e->object, json_at(e->object, "amount_received") ? "amount_received" : "amount");
}

/* --- the event around them ----------------------------------------------------------------- */

typedef void read_fn(const struct event *e, struct notification *n);

static read_fn *find_reader(const char *type)
{
	static const struct {
		const char *type;
		read_fn *read;
	} table[] = {
	    {"checkout.session.completed", read_checkout_completed},
	    {"checkout.session.async_payment_succeeded", read_checkout_completed},
	    {"checkout.session.async_payment_failed", read_checkout_failed},
	    {"checkout.session.expired", read_checkout_failed},
	    {"invoice.paid", read_invoice_paid},
	    {"invoice.payment_failed", read_invoice_failed},
	    {"customer.subscription.created", read_subscription_created},
	    {"customer.subscription.updated", read_subscription_updated},
	    {"customer.subscription.deleted", read_subscription_deleted},
	    {"customer.subscription.paused", read_subscription_paused},
	    {"customer.subscription.resumed", read_subscription_resumed},
	    {"charge.refunded", read_refund},
	    {"charge.dispute.created", read_dispute},
	    {"charge.dispute.closed", read_dispute_closed},
	    {"payment_intent.succeeded", read_payment},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].type, type) == 0)
			return table[i].read;
	return NULL;
}

/* "2022-02-15T00:27:45.330Z", always in UTC; what is finer than a millisecond is cut off. */
static bool parse_utc(const char *text, int64_t *ret_ms)
{
	struct tm tm = {0};
	const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	int64_t ms;

	if (!rest)
		return false;
	ms = (int64_t)timegm(&tm) * 1000;
	if (*rest == '.') {
		for (int64_t unit = 100; *++rest >= '0' && *rest <= '9'; unit /= 10)
			ms += unit * (*rest - '0');
	}
	if (strcmp(rest, "Z") != 0)
		return false;
	*ret_ms = ms;
	return true;
}

/* It names an object without carrying it: there is nothing to fold. */
static const char *read_thin(const json_t *event, struct notification *n)
{
	n->kind = KIND_NOTED;
	(void)parse_utc(json_get_string(event, "created"), &n->occurred_at);
	notification_set(&n->remark, "a thin event: it carries no object");
	return NULL;
}

static const char *read_snapshot(const json_t *event, struct notification *n)
{
	struct event e = {
	    .object = json_get_object(event, "data.object"),
	    .previous = json_get_object(event, "data.previous_attributes"),
	};
	read_fn *read;

	if (!n->native_type)
		return "type is missing";
	if (!get_seconds(event, "created", &n->occurred_at))
		return "created is missing or no number of seconds";
	read = find_reader(n->native_type);
	if (!read)
		return NULL;
	if (!json_get_string(e.object, "id"))
		return "data.object is missing or has no id";
	read(&e, n);
	return NULL;
}

const char *stripe_event_read(const json_t *event, struct notification *n)
{
	const char *object = json_get_string(event, "object");
	const char *fault;

	notification_set(&n->notification_id, json_get_string(event, "id"));
	notification_set(&n->native_type, json_get_string(event, "type"));
	if (!n->notification_id)
		return "id is missing";
	if (object && strcmp(object, "v2.core.event") == 0)
		return read_thin(event, n);
	fault = read_snapshot(event, n);
	/* Without a purchase there is nothing that the rest could be said of. */
	if (!fault && !n->store_purchase_id) {
		notification_clear(n);
		n->kind = KIND_NOTED;
	}
	return fault;
}
