/* The payloads of one notification: {"outer": {...}, "transaction": {...}, "renewal": {...}}. */
#include "producer/app_store_map.h"
#include "producer/json.h"
#include "tests/fuzz/fuzz.h"

#define NOW_MS INT64_C(1767225600123)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct notification *n = notification_new("app_store", NOW_MS);
	struct app_store_payloads payloads;
	const char *why;
	json_t *root = json_read(data, size, &why);

	payloads.outer = json_get_object(root, "outer");
	payloads.transaction = json_get_object(root, "transaction");
	payloads.renewal = json_get_object(root, "renewal");
	if (payloads.outer) {
		notification_set(
		    &n->notification_id, json_get_string(root, "outer.notificationUUID"));
		why = app_store_map(n, &payloads);
		if (why)
			notification_quarantine(n, data, size, why);
		else
			notification_check(n, data, size);
		fuzz_check_notification(n);
		FUZZ_CHECK(payloads.transaction || !n->store_purchase_id);
	}
	json_decref(root);
	notification_free(n);
	return 0;
}
