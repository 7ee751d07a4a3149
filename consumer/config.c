#include "consumer/config.h"

#include "common/redis.h"
#include "common/service.h"

#include <stddef.h>

#define AT(member) offsetof(struct config, member)

const struct option config_options[] = {
    {"database-url", OPT_PG_URL, AT(database_url), NULL, "PostgreSQL with the schema effects",
	OPT_REQUIRED, 0, 0, NULL, "DATABASE_URL"},
    {"redis-url", OPT_REDIS_URL, AT(redis_url), NULL, "Redis with the streams: " REDIS_URL_FORMS,
	OPT_REQUIRED, 0, 0, NULL, "REDIS_URL"},
    {"consumer", OPT_NAME, AT(consumer), "entitlements",
	"Name of this consumer: of its inbox, its cursor and its bookmark in Redis", 0, 0, 0, NULL,
	NULL},
    {"handler", OPT_STRING, AT(handler), "effects.apply_purchase",
	"SQL function (event json) returns void that applies one message", 0, 0, 0, NULL, NULL},
    {"batch", OPT_INT, AT(batch), "256", "Messages in one transaction, at most", 0, 1, 10000, NULL,
	NULL},
    {"block", OPT_DURATION, AT(block_ms), "1s", "How long a read waits for the first entry", 0, 10,
	10000, NULL, NULL},
    {"lease", OPT_DURATION, AT(lease_ms), "5s",
	"After this a shard of a consumer that died goes to another", 0, 100, 3600000, NULL, NULL},
    {"max-attempts", OPT_INT, AT(max_attempts), "5",
	"Starts of a message that fails, until it is a dead letter: 5 take a second or so, 20 "
	"about five minutes",
	0, 1, 1000000, NULL, NULL},
    {"retry-min", OPT_DURATION, AT(retry_min_ms), "100ms",
	"Wait before the first retry of a message that failed", 0, 1, 3600000, NULL, NULL},
    {"retry-max", OPT_DURATION, AT(retry_max_ms), "60s", "Longest wait between two retries", 0, 1,
	86400000, NULL, NULL},
    {"inbox-retention", OPT_DURATION, AT(inbox_retention_ms), "30d",
	"How long inbox rows are kept, at least, and until the relay has announced that they "
	"cannot "
	"come again",
	0, 60000, 315360000000, NULL, NULL},
    {"retention-interval", OPT_DURATION, AT(retention_interval_ms), "1min",
	"How often old inbox rows are looked for", 0, 10, 86400000, NULL, NULL},
    {"instance", OPT_STRING, AT(instance), NULL,
	"Name of this process (default: host name, pid and a nonce)", 0, 0, 0, NULL, NULL},
    {"namespace", OPT_NAME, AT(name_space), "umavez", "Prefix of every Redis key", 0, 0, 0, NULL,
	NULL},
    {"admin-listen", OPT_ADDRESS, AT(admin_listen), "127.0.0.1:9103",
	"Where /livez, /readyz and /metrics are served: " OPTION_ENDPOINT_FORMS, 0, 0, 0, NULL,
	NULL},
    {"lease-off", OPT_BOOL, AT(lease_off), "off",
	"For tests: work on every shard without a lease, beside other consumers", 0, 0, 0, NULL,
	NULL},
    SERVICE_OPTIONS(AT(log_level), AT(log_format)),
    {0},
};

int config_check(const struct config *c, struct err *err)
{
	if (c->retry_min_ms > c->retry_max_ms)
		return err_set(err, ERR_USAGE, "--retry-min is longer than --retry-max");
	return 0;
}
