#include "producer/config.h"

#include "common/service.h"

#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct config, member)

#define KIB INT64_C(1024)
#define HOUR_MS INT64_C(3600000)

const struct option config_options[] = {
    {"database-url", OPT_PG_URL, AT(database_url), NULL, "PostgreSQL with the schema intake",
	OPT_REQUIRED, 0, 0, NULL, "DATABASE_URL"},
    {"listen", OPT_ADDRESS, AT(listen), "0.0.0.0:8080",
	"Where the stores post to: " OPTION_ENDPOINT_FORMS, 0, 0, 0, NULL, NULL},
    {"admin-listen", OPT_ADDRESS, AT(admin_listen), "127.0.0.1:9101",
	"Where /livez, /readyz and /metrics are served: " OPTION_ENDPOINT_FORMS, 0, 0, 0, NULL,
	NULL},
    {"instance", OPT_STRING, AT(instance), NULL,
	"Name of this process (default: host name, pid and a nonce)", 0, 0, 0, NULL, NULL},
    {"threads", OPT_INT, AT(threads), NULL, "Event loops (default: one a core)", 0, 1, 256, NULL,
	NULL},
    {"database-connections", OPT_INT, AT(database_connections), "4",
	"Connections that commit, over all threads, at least one each; one more sends wake-ups", 0,
	1, 1000, NULL, NULL},
    {"batch", OPT_INT, AT(batch), "256", "Notifications in one transaction, at most", 0, 1, 10000,
	NULL, NULL},
    {"queue", OPT_INT, AT(queue), "10000",
	"Notifications that wait for a commit, over all threads; more are answered 503", 0, 1,
	10000000, NULL, NULL},
    {"max-body", OPT_SIZE, AT(max_body), "256KiB", "Longest body; more is answered 413", 0, KIB,
	64 * KIB *KIB, NULL, NULL},
    {"request-timeout", OPT_DURATION, AT(request_timeout_ms), "10s",
	"From the first byte of a request to its answer", 0, 100, HOUR_MS, NULL, NULL},
    {"drain-timeout", OPT_DURATION, AT(drain_timeout_ms), "10s",
	"From SIGTERM to the end of what is under way", 0, 0, HOUR_MS, NULL, NULL},
    {"body-retention", OPT_DURATION, AT(body_retention_ms), "90d",
	"How long the bodies of notifications that were understood are kept; the keys stay", 0,
	HOUR_MS / 60, 3650 * 24 * HOUR_MS, NULL, NULL},
    {"retention-interval", OPT_DURATION, AT(retention_interval_ms), "1min",
	"How often old bodies and missing partitions are looked for", 0, 10, 24 * HOUR_MS, NULL,
	NULL},
    {"trust-traceparent", OPT_BOOL, AT(trust_traceparent), "off",
	"A request's traceparent becomes the parent, not a link", 0, 0, 0, NULL, NULL},
    {"stripe-secret", OPT_LIST, AT(stripe_secrets), NULL,
	"Signing secret of a live endpoint; all given are accepted", OPT_SECRET, 0, 0, NULL, NULL},
    {"stripe-test-secret", OPT_LIST, AT(stripe_test_secrets), NULL,
	"Signing secret of a test-mode endpoint; and that of a live one for Connect, which gets "
	"both",
	OPT_SECRET, 0, 0, NULL, NULL},
    {"stripe-tolerance", OPT_DURATION, AT(stripe_tolerance_ms), "300s",
	"How far a signature's time may be from now", 0, 1000, 24 * HOUR_MS, NULL, NULL},
    {"apple-bundle-id", OPT_LIST, AT(apple_bundle_ids), NULL, "Bundle id of an app of yours", 0, 0,
	0, NULL, NULL},
    {"apple-app-id", OPT_LIST, AT(apple_app_ids), NULL,
	"Its Apple id, the number; checked in Production", 0, 0, 0, NULL, NULL},
    {"apple-root-file", OPT_LIST, AT(apple_root_files), NULL,
	"Root certificate to trust instead of Apple Root CA - G3", 0, 0, 0, NULL, NULL},
    {"apple-ocsp", OPT_BOOL, AT(apple_ocsp), "off", "Ask Apple whether a certificate was revoked",
	0, 0, 0, NULL, NULL},
    {"google-audience", OPT_STRING, AT(google_audience), NULL,
	"Audience of the push subscription's tokens", 0, 0, 0, NULL, NULL},
    {"google-push-account", OPT_STRING, AT(google_push_account), NULL,
	"Service account that the push subscription signs as", 0, 0, 0, NULL, NULL},
    {"google-jwks-url", OPT_STRING, AT(google_jwks_url),
	"https://www.googleapis.com/oauth2/v3/certs", "Keys that sign the tokens", 0, 0, 0, NULL,
	NULL},
    {"google-jwks-file", OPT_STRING, AT(google_jwks_file), NULL, "The same from a file, instead", 0,
	0, 0, NULL, NULL},
    {"google-package", OPT_LIST, AT(google_packages), NULL,
	"Package name of an app of yours (default: any)", 0, 0, 0, NULL, NULL},
    SERVICE_OPTIONS(AT(log_level), AT(log_format)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

bool config_has_app_store(const struct config *config)
{
	return config->apple_bundle_ids.n > 0;
}

bool config_has_google_play(const struct config *config)
{
	return config->google_audience || config->google_push_account;
}

bool config_has_stripe(const struct config *config)
{
	return config->stripe_secrets.n > 0 || config->stripe_test_secrets.n > 0;
}

static int check_listen(const struct config *config, struct err *err)
{
	if (strncmp(config->listen, "unix:", 5) == 0)
		return err_set(err, ERR_USAGE, "--listen: must be host:port");
	return 0;
}

static int check_app_store(const struct config *config, struct err *err)
{
	if (!config_has_app_store(config) && config->apple_app_ids.n > 0)
		return err_set(err, ERR_USAGE, "--apple-app-id needs --apple-bundle-id");
	if (config_has_app_store(config) && config->apple_app_ids.n == 0)
		return err_set(err, ERR_USAGE,
		    "--apple-app-id is missing: without it every Production notification would be "
		    "refused");
	return 0;
}

static int check_google_play(const struct config *config, struct err *err)
{
	if (!config_has_google_play(config)) {
		if (config->google_packages.n > 0 || config->google_jwks_file)
			return err_set(err, ERR_USAGE, "--google-audience is missing");
		return 0;
	}
	if (!config->google_audience)
		return err_set(err, ERR_USAGE, "--google-audience is missing");
	if (!config->google_push_account)
		return err_set(err, ERR_USAGE,
		    "--google-push-account is missing: a push that does not say who sends it is "
		    "never "
		    "taken");
	return 0;
}

int config_check(const struct config *config, struct err *err)
{
	if (check_listen(config, err) < 0 || check_app_store(config, err) < 0 ||
	    check_google_play(config, err) < 0)
		return -1;
	if (!config_has_app_store(config) && !config_has_google_play(config) &&
	    !config_has_stripe(config))
		return err_set(err, ERR_USAGE,
		    "no store is configured: give --stripe-secret or --stripe-test-secret, "
		    "--apple-bundle-id and --apple-app-id, or --google-audience and "
		    "--google-push-account");
	return 0;
}
