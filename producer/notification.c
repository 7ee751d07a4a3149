#include "producer/notification.h"

#include "common/hex.h"
#include "common/memory.h"
#include "common/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ID 512
#define MAX_TEXT 2048

static const struct {
	const char *name;
	int rank;
} kinds[] = {
    [KIND_UNRECOGNIZED] = {"unrecognized", 0},
    [KIND_TEST] = {"test", 0},
    [KIND_NOTED] = {"noted", 0},
    [KIND_PENDING] = {"pending", 1},
    [KIND_STARTED] = {"started", 2},
    [KIND_RENEWED] = {"renewed", 3},
    [KIND_RECOVERED] = {"recovered", 3},
    [KIND_UNCANCELED] = {"uncanceled", 3},
    [KIND_CHANGED] = {"changed", 3},
    [KIND_EXTENDED] = {"extended", 3},
    [KIND_CANCELED] = {"canceled", 4},
    [KIND_GRACE_STARTED] = {"grace_started", 5},
    [KIND_ON_HOLD] = {"on_hold", 6},
    [KIND_PAUSED] = {"paused", 6},
    [KIND_EXPIRED] = {"expired", 7},
    [KIND_PENDING_CANCELED] = {"pending_canceled", 7},
    [KIND_REFUNDED] = {"refunded", 8},
    [KIND_REVOKED] = {"revoked", 8},
    [KIND_REFUND_REVERSED] = {"refund_reversed", 9},
};

const char *kind_name(enum kind kind)
{
	return kinds[kind].name;
}

int kind_rank(enum kind kind)
{
	return kinds[kind].rank;
}

const char *state_name(enum state state)
{
	static const char *const names[] = {
	    [STATE_SAME] = NULL,
	    [STATE_PENDING] = "pending",
	    [STATE_ACTIVE] = "active",
	    [STATE_GRACE] = "grace",
	    [STATE_ON_HOLD] = "on_hold",
	    [STATE_PAUSED] = "paused",
	    [STATE_EXPIRED] = "expired",
	    [STATE_REFUNDED] = "refunded",
	    [STATE_REVOKED] = "revoked",
	    [STATE_VOID] = "void",
	};
	return names[state];
}

void notification_clear(struct notification *n)
{
	notification_set(&n->store_purchase_id, NULL);
	notification_set(&n->product_id, NULL);
	notification_set(&n->account_ref, NULL);
	notification_set(&n->transaction_id, NULL);
	n->state = STATE_SAME;
	n->current_only = false;
	n->will_renew = RENEW_SAME;
	n->expires_at = TIME_NONE;
	n->has_amount = false;
	n->amount_minor = 0;
	n->currency[0] = '\0';
	n->quantity = 1;
	n->partial = false;
}

struct notification *notification_new(const char *store, int64_t now_ms)
{
	struct notification *n = mem_zalloc(1, sizeof(*n));

	n->store = store;
	n->kind = KIND_NOTED;
	n->received_at = now_ms;
	n->occurred_at = now_ms;
	notification_clear(n);
	return n;
}

void notification_free(struct notification *n)
{
	if (!n)
		return;
	notification_clear(n);
	free(n->notification_id);
	free(n->native_type);
	free(n->remark);
	free(n);
}

void notification_set(char **field, const char *text)
{
	char *copy = mem_strdup(text);

	free(*field);
	*field = copy;
}

void notification_setf(char **field, const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		abort();
	va_end(args);
	free(*field);
	*field = text;
}

bool notification_set_currency(struct notification *n, const char *code)
{
	n->currency[0] = '\0';
	if (!code || strlen(code) != 3)
		return false;
	for (int i = 0; i < 3; i++) {
		char upper = (char)(code[i] & ~0x20);

		if (upper < 'A' || upper > 'Z') {
			n->currency[0] = '\0';
			return false;
		}
		n->currency[i] = upper;
	}
	n->currency[3] = '\0';
	return true;
}

static bool valid_text(const char *text, size_t max)
{
	return !text || (strlen(text) <= max && utf8_valid(text, strlen(text)));
}

static bool valid_id(const char *id)
{
	return valid_text(id, MAX_ID) && (!id || *id);
}

static bool valid_time(int64_t ms)
{
	return ms >= 0 && ms <= TIME_MAX;
}

void notification_quarantine(
    struct notification *n, const void *verified, size_t len, const char *remark)
{
	char hex[HEX_SHA256_SIZE];

	notification_clear(n);
	n->kind = KIND_UNRECOGNIZED;
	if (!n->notification_id || !valid_id(n->notification_id)) {
		hex_sha256(verified, len, hex);
		notification_setf(&n->notification_id, "sha256:%s", hex);
	}
	if (!valid_text(n->native_type, MAX_TEXT))
		notification_set(&n->native_type, NULL);
	if (!valid_time(n->occurred_at))
		n->occurred_at = n->received_at;
	notification_set(&n->remark, remark);
}

/* What does not hold, or NULL. */
static const char *find_fault(const struct notification *n)
{
	if (!n->notification_id || !valid_id(n->notification_id))
		return "the notification id is missing, too long or no text";
	if (!valid_id(n->store_purchase_id))
		return "the purchase id is empty, too long or no text";
	if (!valid_id(n->transaction_id))
		return "the transaction id is empty, too long or no text";
	if (!valid_text(n->native_type, MAX_TEXT) || !valid_text(n->product_id, MAX_TEXT) ||
	    !valid_text(n->account_ref, MAX_TEXT) || !valid_text(n->remark, MAX_TEXT))
		return "a field is too long or no text";
	if (!valid_time(n->occurred_at))
		return "its time is outside the years 1970 to 9999";
	if (n->expires_at != TIME_NONE && !valid_time(n->expires_at))
		return "its expiry is outside the years 1970 to 9999";
	if (n->has_amount && !n->currency[0])
		return "its amount has no currency";
	return NULL;
}

void notification_check(struct notification *n, const void *verified, size_t len)
{
	const char *fault = find_fault(n);

	if (fault)
		notification_quarantine(n, verified, len, fault);
}

/* Decimal digits of the minor unit, ISO 4217 list one. */
static int currency_exponent(const char *currency)
{
	static const struct {
		int exponent;
		const char *codes;
	} table[] = {
	    {0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF "},
	    {3, "BHD IQD JOD KWD LYD OMR TND "},
	    {4, "CLF UYW "},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (const char *code = table[i].codes; *code; code += 4)
			if (strncmp(code, currency, 3) == 0)
				return table[i].exponent;
	return 2;
}

bool minor_from_milliunits(int64_t milliunits, const char *currency, int64_t *ret_minor)
{
	int64_t divisor = 1;
	int exponent = currency_exponent(currency);

	if (exponent > 3)
		return !__builtin_mul_overflow(milliunits, (int64_t)10, ret_minor);
	for (int i = exponent; i < 3; i++)
		divisor *= 10;
	if (milliunits % divisor != 0)
		return false;
	*ret_minor = milliunits / divisor;
	return true;
}
