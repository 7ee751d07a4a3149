#include "producer/notification.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define MAX_ID 512
#define MAX_TEXT 2048

static void check_id(const char *id)
{
	fuzz_check_text(id, MAX_ID);
	FUZZ_CHECK(!id || *id);
}

static void check_time(int64_t ms)
{
	FUZZ_CHECK(ms >= 0 && ms <= TIME_MAX);
}

static void check_money(const struct notification *n)
{
	size_t len = strlen(n->currency);

	FUZZ_CHECK(len == 0 || len == 3);
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK(n->currency[i] >= 'A' && n->currency[i] <= 'Z');
	FUZZ_CHECK(!n->has_amount || len == 3);
}

static void check_no_purchase(const struct notification *n)
{
	FUZZ_CHECK(n->kind == KIND_UNRECOGNIZED || n->kind == KIND_TEST || n->kind == KIND_NOTED);
	FUZZ_CHECK(!n->product_id && !n->account_ref && !n->transaction_id);
	FUZZ_CHECK(n->state == STATE_SAME && n->will_renew == RENEW_SAME && !n->current_only);
	FUZZ_CHECK(n->expires_at == TIME_NONE && !n->has_amount && !n->partial);
}

void fuzz_check_notification(const struct notification *n)
{
	static const char *const stores[] = {
	    "app_store", "app_store_sandbox", "google_play", "stripe", "stripe_test"};
	bool known = false;

	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++)
		known = known || strcmp(n->store, stores[i]) == 0;
	FUZZ_CHECK(known && n->notification_id && kind_name(n->kind));
	check_id(n->notification_id);
	check_id(n->store_purchase_id);
	check_id(n->transaction_id);
	fuzz_check_text(n->native_type, MAX_TEXT);
	fuzz_check_text(n->product_id, MAX_TEXT);
	fuzz_check_text(n->account_ref, MAX_TEXT);
	fuzz_check_text(n->remark, MAX_TEXT);
	check_time(n->occurred_at);
	if (n->expires_at != TIME_NONE)
		check_time(n->expires_at);
	check_money(n);
	FUZZ_CHECK(!n->current_only || n->transaction_id);
	FUZZ_CHECK((n->state == STATE_SAME) == !state_name(n->state));
	FUZZ_CHECK(n->kind != KIND_UNRECOGNIZED || n->remark);
	FUZZ_CHECK(n->kind != KIND_UNRECOGNIZED || !n->store_purchase_id);
	if (!n->store_purchase_id)
		check_no_purchase(n);
}
