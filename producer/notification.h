/*
 * notification.h - what a store told us, normalised: one row of intake.notification.
 *
 * Types and subtypes of the stores are open sets: text in, one of our kinds out, KIND_NOTED for
 * what we do not know.  STORES.md's tables, as code, live in app_store.c, google_play.c and
 * stripe.c.
 */
#ifndef UMAVEZ_NOTIFICATION_H
#define UMAVEZ_NOTIFICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind {
	KIND_UNRECOGNIZED, /* authentic, not understood: quarantined, never published as it is */
	KIND_TEST,
	KIND_NOTED,
	KIND_PENDING,
	KIND_STARTED,
	KIND_RENEWED,
	KIND_RECOVERED,
	KIND_UNCANCELED,
	KIND_CHANGED,
	KIND_EXTENDED,
	KIND_CANCELED,
	KIND_GRACE_STARTED,
	KIND_ON_HOLD,
	KIND_PAUSED,
	KIND_EXPIRED,
	KIND_PENDING_CANCELED,
	KIND_REFUNDED,
	KIND_REVOKED,
	KIND_REFUND_REVERSED,
};
const char *kind_name(enum kind kind); /* "renewed" */

/* Of two notifications for one purchase in the same instant the higher rank wins. */
int kind_rank(enum kind kind);

/* What the notification says that the purchase now is. STATE_SAME: nothing. */
enum state {
	STATE_SAME,
	STATE_PENDING,
	STATE_ACTIVE,
	STATE_GRACE,
	STATE_ON_HOLD,
	STATE_PAUSED,
	STATE_EXPIRED,
	STATE_REFUNDED,
	STATE_REVOKED,
	STATE_VOID,
};
const char *state_name(enum state state); /* NULL for STATE_SAME */

enum will_renew { RENEW_SAME = -1, RENEW_NO = 0, RENEW_YES = 1 };

#define TIME_NONE INT64_MIN
#define TIME_MAX 253402300799999 /* the last millisecond of the year 9999 */

struct notification {
	const char *store; /* static: app_store app_store_sandbox google_play stripe stripe_test */
	char *notification_id; /* the store's own, or "sha256:<hex>" of the verified bytes */
	enum kind kind;
	char *native_type; /* the store's word, "DID_RENEW/BILLING_RECOVERY"; NULL if unreadable */
	int64_t received_at;     /* ms since 1970: now, as notification_new() was told */
	int64_t occurred_at;     /* ms since 1970 */
	char *store_purchase_id; /* NULL: no purchase */
	char *product_id;
	char *account_ref;
	enum state state;
	bool current_only; /* state holds only if transaction_id is the purchase's current one */
	enum will_renew will_renew;
	int64_t expires_at;   /* ms, or TIME_NONE */
	char *transaction_id; /* what a ledger entry is unique by */
	bool has_amount;
	int64_t amount_minor; /* in the currency's minor unit, never a float */
	char currency[4];     /* upper case ISO 4217, or "" */
	int64_t quantity;     /* 1 unless the store says otherwise */
	bool partial;         /* a refund of a part */
	char *remark;         /* why it is unrecognized, or what was tolerated; for people */
};

/* Everything absent, occurred_at = now. Never NULL. */
struct notification *notification_new(const char *store, int64_t now_ms);
void notification_free(struct notification *n); /* NULL is fine */

/* Replace *field, a string of a notification, by a copy of text (NULL: by nothing), or by what is
 * formatted. Memory that runs out aborts, as in every function here. */
void notification_set(char **field, const char *text);
void notification_setf(char **field, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Drop all that it says of a purchase: what remains is id, kind, native_type, time and remark. */
void notification_clear(struct notification *n);

/* Make it unrecognized, whatever it was: the purchase fields are dropped, the id is kept or, if
 * there is none yet, becomes "sha256:" of the verified bytes. */
void notification_quarantine(
    struct notification *n, const void *verified, size_t len, const char *remark);

/*
 * The last gate before the database, the same for every store: ids of 1 to 512 bytes, text without
 * NUL and valid UTF-8, at most 2048 bytes, times between 1970 and 9999, an amount with a currency.
 * What does not hold is quarantined by this function.
 */
void notification_check(struct notification *n, const void *verified, size_t len);

/* Upper-case a code of three ASCII letters into n->currency. False, and "", if it is none. */
bool notification_set_currency(struct notification *n, const char *code);

/* amount in milliunits of the currency (Apple) to minor units, by ISO 4217's exponent: 2 for a code
 * that the standard does not list with another. False if it is no whole number of minor units or
 * overflows. */
bool minor_from_milliunits(int64_t milliunits, const char *currency, int64_t *ret_minor);

#endif
