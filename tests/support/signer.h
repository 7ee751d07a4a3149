/*
 * signer.h - notifications as the stores would sign them, with keys of the test run's own.
 *
 * Keys are made once a program.  Everything returned is malloc'd unless it says otherwise.
 */
#ifndef UMAVEZ_TESTS_SIGNER_H
#define UMAVEZ_TESTS_SIGNER_H

#include <stddef.h>
#include <stdint.h>

#define SIGNER_STRIPE_SECRET "whsec_live_for_tests"
#define SIGNER_STRIPE_TEST_SECRET "whsec_test_for_tests"
#define SIGNER_BUNDLE_ID "com.example"
#define SIGNER_APP_ID "41234"
#define SIGNER_AUDIENCE "https://example.com/webhooks/google-play"
#define SIGNER_PUSH_ACCOUNT "push@example.iam.gserviceaccount.com"
#define SIGNER_PACKAGE "com.example.app"

struct signer;
struct signer *signer_new(void);
void signer_free(struct signer *s);

/* Write the public halves: the Apple test root (PEM) and the Google JWKS. Paths stay valid. */
void signer_write(struct signer *s, const char *dir);
const char *signer_root_path(const struct signer *s);
const char *signer_jwks_path(const struct signer *s);

/* "t=...,v1=..." over body at second t with secret. */
char *sign_stripe(const char *secret, int64_t t, const void *body, size_t len);

/* Compact JWS with x5c = leaf, intermediate, root, ES256, over any payload. */
char *sign_apple(struct signer *s, const char *payload_json);

/* Whole request bodies. Times in ms. NULL arguments are left out of the payload. */
struct apple_spec {
	const char *uuid, *type, *subtype, *environment; /* environment NULL: Production */
	const char *original_transaction_id, *transaction_id, *product_id, *account_token;
	int64_t signed_date, purchase_date, expires_date; /* 0: left out (signed_date 0: now) */
	int64_t price_milliunits;                         /* <0: left out */
	const char *currency;
	int auto_renew; /* -1: no renewal info */
};
char *apple_body(struct signer *s, const struct apple_spec *spec);

/* The bearer token of a Google push ("Bearer eyJ..."), and a wrapped RTDN. */
char *google_token(struct signer *s, int64_t now_s);
/* A JWT with any header and claims, signed as google_token() does (kid "umavez-test-key"). */
char *google_jwt(struct signer *s, const char *header, const char *claims);
char *google_body(const char *message_id, const char *rtdn_json);
char *google_subscription(int type, const char *token, const char *product, int64_t event_ms);

/* A Stripe event: data_object is the JSON of data.object. */
char *stripe_event(
    const char *id, const char *type, int livemode, int64_t created_s, const char *data_object);

/* Post to a producer, with fresh signatures. Returns the HTTP status (0: no answer); *ret_body is
 * malloc'd, may be NULL. */
int post_stripe(const char *base_url, const char *event_json, char **ret_body);
int post_apple(const char *base_url, const char *body, char **ret_body);
int post_google(struct signer *s, const char *base_url, const char *body, char **ret_body);

#endif
