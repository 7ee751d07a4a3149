/*
 * apple_fixture.h - what the App Store's tests share: a store under a root of the test's own, and
 * what came of the last body that it read.
 */
#ifndef UMAVEZ_TESTS_APPLE_FIXTURE_H
#define UMAVEZ_TESTS_APPLE_FIXTURE_H

#include "producer/app_store.h"
#include "tests/support/test_ca.h"

#define NOW_MS INT64_C(1767225600123) /* 2026-01-01T00:00:00.123Z */

/* Claims of a payload that is for us. */
#define SANDBOX "\"bundleId\":\"com.example\",\"environment\":\"Sandbox\""
#define PRODUCTION                                                                                 \
	"\"appAppleId\":41234,\"bundleId\":\"com.example\",\"environment\":\"Production\""

/* The first claims of a test notification; a whole one, signed at a time that is a JSON value. */
#define TEST_HEAD                                                                                  \
	"\"notificationType\":\"TEST\",\"notificationUUID\":\"uuid-1\",\"signedDate\":"            \
	"1767225600123"
#define SIGNED_AT(ms)                                                                              \
	"{\"notificationType\":\"TEST\",\"notificationUUID\":\"u\",\"signedDate\":" ms             \
	",\"data\":{" SANDBOX "}}"

struct apple {
	struct test_ca *ca;
	char *root_path;
	struct app_store *store; /* for com.example and app 41234, under ca */
	struct refusal refusal;  /* of the last body: why not, or "" */
	struct notification *n;  /* of the last body: NULL if it was refused */
};
extern struct apple apple;

void apple_open(void);
void apple_close(void);

/* Another store. app_id NULL: none; root NULL: Apple's. */
struct app_store *store_for(const char *bundle_id, const char *app_id, const char *root);

enum verdict read_at(struct app_store *s, const char *body, int64_t now_ms);
enum verdict read_jws(struct app_store *s, char *jws); /* as a whole body, now; frees jws */
enum verdict read_payload(const char *payload);        /* signed by apple.ca, for apple.store */

/* The last body was forged, for this reason. */
void expect_refused(enum verdict verdict, const char *reason);

/* The last body was kept unrecognized; under this id, or, if it is NULL, under its digest. */
void expect_quarantined(enum verdict verdict, const char *id);

#endif
