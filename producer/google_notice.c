#include "producer/google_notice.h"

#include "common/hex.h"
#include "producer/json.h"

#include <string.h>

struct meaning {
	int64_t number;
	enum kind kind;
	enum state state;
	enum will_renew will_renew;
};

static const struct meaning subscription_meanings[] = {
    {1, KIND_RECOVERED, STATE_ACTIVE, RENEW_YES},
    {2, KIND_RENEWED, STATE_ACTIVE, RENEW_YES},
    {3, KIND_CANCELED, STATE_SAME, RENEW_NO},
    {4, KIND_STARTED, STATE_ACTIVE, RENEW_YES},
    {5, KIND_ON_HOLD, STATE_ON_HOLD, RENEW_SAME},
    {6, KIND_GRACE_STARTED, STATE_GRACE, RENEW_SAME},
    {7, KIND_UNCANCELED, STATE_ACTIVE, RENEW_YES},
    {9, KIND_EXTENDED, STATE_ACTIVE, RENEW_SAME},
    {10, KIND_PAUSED, STATE_PAUSED, RENEW_SAME},
    {12, KIND_REVOKED, STATE_REVOKED, RENEW_NO},
    {13, KIND_EXPIRED, STATE_EXPIRED, RENEW_NO},
    {17, KIND_CHANGED, STATE_SAME, RENEW_SAME},
    {18, KIND_CANCELED, STATE_SAME, RENEW_NO},
    {20, KIND_PENDING_CANCELED, STATE_VOID, RENEW_NO},
    {0},
};

static const struct meaning one_time_meanings[] = {
    {1, KIND_STARTED, STATE_ACTIVE, RENEW_SAME},
    {2, KIND_PENDING_CANCELED, STATE_VOID, RENEW_SAME},
    {0},
};

/* Of the whole purchase, as Google has it. */
static const struct meaning voided_meanings[] = {
    {1, KIND_REFUNDED, STATE_REFUNDED, RENEW_SAME},
    {2, KIND_REFUNDED, STATE_SAME, RENEW_SAME},
    {0},
};

#define REFUND_PARTIAL 2

/* The members that say what happened; exactly one is there. */
struct topic {
	const char *member;
	const char *name;   /* in a transaction id */
	const char *number; /* the member that selects the meaning */
	const struct meaning *meanings;
	const char *product;
};

static const struct topic topics[] = {
    {"subscriptionNotification", "subscription", "notificationType", subscription_meanings,
	"subscriptionId"},
    {"oneTimeProductNotification", "one_time", "notificationType", one_time_meanings, "sku"},
    {"voidedPurchaseNotification", "voided", "refundType", voided_meanings, NULL},
};

static void apply_meaning(struct notification *n, const struct meaning *meanings, int64_t number)
{
	for (const struct meaning *m = meanings; m->number; m++) {
		if (m->number != number)
			continue;
		n->kind = m->kind;
		n->state = m->state;
		n->will_renew = m->will_renew;
		return;
	}
}

/* An order where there is one; else what a publisher's duplicate, which has a message id of its
 * own, has in common with the first. */
static void set_transaction(
    struct notification *n, const json_t *body, const struct topic *topic, int64_t number)
{
	const char *order = json_get_string(body, "orderId");
	char hex[HEX_SHA256_SIZE];

	if (order) {
		notification_set(&n->transaction_id, order);
		return;
	}
	hex_sha256(n->store_purchase_id, strlen(n->store_purchase_id), hex);
	notification_setf(&n->transaction_id, "%.32s.%s.%lld@%lld", hex, topic->name,
	    (long long)number, (long long)n->occurred_at);
}

static const char *read_topic(const json_t *body, const struct topic *topic, struct notification *n)
{
	int64_t number;

	if (!json_get_int(body, topic->number, &number))
		return "its type is missing or no integer";
	notification_setf(&n->native_type, "%s/%lld", topic->member, (long long)number);
	notification_set(&n->store_purchase_id, json_get_string(body, "purchaseToken"));
	if (!n->store_purchase_id)
		return "purchaseToken is missing";
	if (topic->product)
		notification_set(&n->product_id, json_get_string(body, topic->product));
	apply_meaning(n, topic->meanings, number);
	n->partial = topic->meanings == voided_meanings && number == REFUND_PARTIAL;
	set_transaction(n, body, topic, number);
	return NULL;
}

static bool is_body(const char *name, const json_t *value)
{
	static const char suffix[] = "Notification";
	size_t len = strlen(name);

	return json_is_object(value) && len >= sizeof(suffix) - 1 &&
	       strcmp(name + len - (sizeof(suffix) - 1), suffix) == 0;
}

/* What happened: the only member of its kind. NULL, and *ret_fault, unless there is one. */
static const json_t *find_body(const json_t *notice, const char **ret_name, const char **ret_fault)
{
	const json_t *body = NULL;
	const char *name;
	json_t *value;

	*ret_fault = "it tells of nothing";
	json_object_foreach ((json_t *)notice, name, value) {
		if (!is_body(name, value))
			continue;
		if (body) {
			*ret_fault = "it tells of two things at once";
			return NULL;
		}
		body = value;
		*ret_name = name;
	}
	return body;
}

const char *google_notice_read(const json_t *notice, struct notification *n)
{
	bool has_time = json_get_epoch_ms(notice, "eventTimeMillis", &n->occurred_at);
	const char *name, *fault;
	const json_t *body = find_body(notice, &name, &fault);

	if (!body)
		return fault;
	notification_set(&n->native_type, name);
	if (strcmp(name, "testNotification") == 0) {
		n->kind = KIND_TEST;
		return NULL;
	}
	if (!json_get_string(notice, "packageName"))
		return "packageName is missing";
	if (!has_time)
		return "eventTimeMillis is missing or no time";
	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
		if (strcmp(topics[i].member, name) == 0)
			return read_topic(body, &topics[i], n);
	return NULL;
}
