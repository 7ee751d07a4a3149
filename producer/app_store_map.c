#include "producer/app_store_map.h"

#include "producer/json.h"

#include <ctype.h>
#include <string.h>

struct meaning {
	const char *type;
	const char *subtype; /* NULL: any, or none */
	enum kind kind;
	enum state state;
	enum will_renew will_renew; /* RENEW_SAME: as the renewal info says */
	bool current_only;
};

/* The first that fits counts. REFUND names one transaction, which may be an old one: the genuine
 * sample refunds a past period of a subscription that is active. */
static const struct meaning meanings[] = {
    {"SUBSCRIBED", NULL, KIND_STARTED, STATE_ACTIVE, RENEW_SAME, false},
    {"ONE_TIME_CHARGE", NULL, KIND_STARTED, STATE_ACTIVE, RENEW_SAME, false},
    {"OFFER_REDEEMED", NULL, KIND_STARTED, STATE_ACTIVE, RENEW_SAME, false},
    {"DID_RENEW", "BILLING_RECOVERY", KIND_RECOVERED, STATE_ACTIVE, RENEW_SAME, false},
    {"DID_RENEW", NULL, KIND_RENEWED, STATE_ACTIVE, RENEW_SAME, false},
    {"DID_CHANGE_RENEWAL_PREF", NULL, KIND_CHANGED, STATE_SAME, RENEW_SAME, false},
    {"DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", KIND_CANCELED, STATE_SAME, RENEW_NO,
	false},
    {"DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", KIND_UNCANCELED, STATE_SAME, RENEW_YES,
	false},
    {"DID_FAIL_TO_RENEW", "GRACE_PERIOD", KIND_GRACE_STARTED, STATE_GRACE, RENEW_SAME, false},
    {"DID_FAIL_TO_RENEW", NULL, KIND_ON_HOLD, STATE_ON_HOLD, RENEW_SAME, false},
    {"GRACE_PERIOD_EXPIRED", NULL, KIND_ON_HOLD, STATE_ON_HOLD, RENEW_SAME, false},
    {"EXPIRED", NULL, KIND_EXPIRED, STATE_EXPIRED, RENEW_SAME, false},
    {"REFUND", NULL, KIND_REFUNDED, STATE_REFUNDED, RENEW_SAME, true},
    {"REFUND_REVERSED", NULL, KIND_REFUND_REVERSED, STATE_ACTIVE, RENEW_SAME, true},
    {"REVOKE", NULL, KIND_REVOKED, STATE_REVOKED, RENEW_SAME, false},
    {"RENEWAL_EXTENDED", NULL, KIND_EXTENDED, STATE_ACTIVE, RENEW_SAME, false},
    {"TEST", NULL, KIND_TEST, STATE_SAME, RENEW_SAME, false},
};

static const struct meaning unknown = {NULL, NULL, KIND_NOTED, STATE_SAME, RENEW_SAME, false};

static const struct meaning *find_meaning(const char *type, const char *subtype)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		const struct meaning *m = &meanings[i];

		if (strcmp(m->type, type) != 0)
			continue;
		if (!m->subtype || (subtype && strcmp(m->subtype, subtype) == 0))
			return m;
	}
	return &unknown;
}

/*
 * Of the readers below each takes a member that may be absent (or null, the same), and gives false
 * if it is there and is not what it should be: guessing would be worse than a quarantine.
 */

static bool is_absent(const json_t *value)
{
	return !value || json_is_null(value);
}

static bool read_text(const json_t *object, const char *name, const char **ret_text)
{
	const json_t *value = json_object_get(object, name);

	*ret_text = json_get_string(object, name);
	return *ret_text || is_absent(value) ||
	       (json_is_string(value) && json_string_length(value) == 0);
}

/* A real is a date of Xcode's, which no server gets. */
static bool read_date(const json_t *object, const char *name, int64_t *ret_ms)
{
	*ret_ms = TIME_NONE;
	if (is_absent(json_object_get(object, name)))
		return true;
	return json_get_int(object, name, ret_ms) && *ret_ms >= 0 && *ret_ms <= TIME_MAX;
}

static bool read_count(const json_t *object, const char *name, int64_t fallback, int64_t *ret_count)
{
	*ret_count = fallback;
	if (is_absent(json_object_get(object, name)))
		return true;
	return json_get_int(object, name, ret_count) && *ret_count >= 0;
}

static bool is_uuid(const char *text)
{
	for (int i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return text[36] == '\0';
}

/* The transaction's appAccountToken, or else the renewal's. A UUID is one whatever its case; as a
 * key it needs one spelling. */
static const char *map_account(struct notification *n, const struct app_store_payloads *p)
{
	const char *token = NULL, *from_renewal = NULL;

	if (!read_text(p->transaction, "appAccountToken", &token) ||
	    !read_text(p->renewal, "appAccountToken", &from_renewal))
		return "appAccountToken is no text";
	notification_set(&n->account_ref, token ? token : from_renewal);
	if (n->account_ref && is_uuid(n->account_ref))
		for (char *c = n->account_ref; *c; c++)
			*c = (char)tolower((unsigned char)*c);
	return NULL;
}

/* A part of the price was given back; Apple says which part in thousandths of a percent. */
static bool is_partial(const struct notification *n, const json_t *transaction)
{
	int64_t percentage;

	return n->kind == KIND_REFUNDED &&
	       json_get_int(transaction, "revocationPercentage", &percentage) &&
	       percentage < 100000;
}

/* price is in thousandths of the currency. Of a partial refund it is still the whole price, and the
 * part is nowhere in money: better no amount than a wrong one. */
static const char *map_amount(struct notification *n, const json_t *transaction)
{
	const char *currency;
	int64_t price;

	if (!read_text(transaction, "currency", &currency))
		return "currency is no text";
	if (!read_count(transaction, "price", -1, &price))
		return "price is no number of milliunits";
	n->partial = is_partial(n, transaction);
	if (price < 0 || n->partial)
		return NULL;
	if (!notification_set_currency(n, currency))
		notification_set(&n->remark, "its price has no currency");
	else if (!minor_from_milliunits(price, n->currency, &n->amount_minor))
		notification_set(&n->remark, "its price is no whole number of minor units");
	else
		n->has_amount = true;
	return NULL;
}

/* Until when: the end of the period, or of the grace that was given after it. */
static const char *map_dates(struct notification *n, const struct app_store_payloads *p)
{
	int64_t purchased, grace;

	if (!read_date(p->transaction, "purchaseDate", &purchased) ||
	    !read_date(p->transaction, "expiresDate", &n->expires_at) ||
	    !read_date(p->renewal, "gracePeriodExpiresDate", &grace))
		return "a date is no number of milliseconds since 1970";
	if (n->state == STATE_GRACE && grace != TIME_NONE)
		n->expires_at = grace;
	return NULL;
}

/* All transactions of a subscription are one purchase, every other one is a purchase of its own. A
 * transaction that does not say its type is taken for a subscription's if it has an original. */
static const char *map_purchase(struct notification *n, const json_t *transaction)
{
	const char *type, *id, *original, *product;

	if (!read_text(transaction, "type", &type) ||
	    !read_text(transaction, "transactionId", &id) ||
	    !read_text(transaction, "originalTransactionId", &original) ||
	    !read_text(transaction, "productId", &product))
		return "a name in the transaction is no text";
	if (!id)
		return "the transaction has no transactionId";
	if (!original && type && strcmp(type, "Auto-Renewable Subscription") == 0)
		return "the subscription has no originalTransactionId";
	if (type && strcmp(type, "Auto-Renewable Subscription") != 0)
		original = NULL;
	notification_set(&n->transaction_id, id);
	notification_set(&n->store_purchase_id, original ? original : id);
	notification_set(&n->product_id, product);
	if (!read_count(transaction, "quantity", 1, &n->quantity))
		return "quantity is no number";
	return NULL;
}

static void map_will_renew(struct notification *n, const json_t *renewal)
{
	int64_t status;

	if (n->will_renew != RENEW_SAME || !json_get_int(renewal, "autoRenewStatus", &status))
		return;
	if (status == 0 || status == 1)
		n->will_renew = status ? RENEW_YES : RENEW_NO;
}

static void set_meaning(struct notification *n, const struct meaning *m)
{
	n->kind = m->kind;
	n->state = m->state;
	n->will_renew = m->will_renew;
	n->current_only = m->current_only;
}

static const char *map_type(struct notification *n, const json_t *outer)
{
	const char *type, *subtype;

	if (!read_text(outer, "notificationType", &type) || !type)
		return "it has no notificationType";
	if (!read_text(outer, "subtype", &subtype))
		return "subtype is no text";
	if (subtype)
		notification_setf(&n->native_type, "%s/%s", type, subtype);
	else
		notification_set(&n->native_type, type);
	set_meaning(n, find_meaning(type, subtype));
	return NULL;
}

static const char *map_signed_date(struct notification *n, const json_t *outer)
{
	int64_t signed_at;

	if (!read_date(outer, "signedDate", &signed_at))
		return "signedDate is no number of milliseconds since 1970";
	if (signed_at == TIME_NONE)
		notification_set(&n->remark, "it has no signedDate: the time of receipt was taken");
	else
		n->occurred_at = signed_at;
	return NULL;
}

const char *app_store_map(struct notification *n, const struct app_store_payloads *p)
{
	const char *why = map_type(n, p->outer);

	if (!why)
		why = map_signed_date(n, p->outer);
	if (why || n->kind == KIND_TEST)
		return why;
	if (!p->transaction) {
		if (n->kind != KIND_NOTED)
			notification_set(&n->remark, "it is about a purchase, but names none");
		set_meaning(n, &unknown);
		return NULL;
	}
	why = map_purchase(n, p->transaction);
	if (!why)
		why = map_account(n, p);
	if (!why)
		why = map_dates(n, p);
	if (!why)
		why = map_amount(n, p->transaction);
	map_will_renew(n, p->renewal);
	return why;
}
