#include "relay/config.h"

#include "common/redis.h"
#include "common/service.h"

#define AT(member) offsetof(struct config, member)
#define SECOND 1000
#define DAY (24 * 60 * 60 * SECOND)

const struct option config_options[] = {
    {"database-url", OPT_PG_URL, AT(database_url), NULL, "PostgreSQL with the schema intake",
	OPT_REQUIRED, 0, 0, NULL, "DATABASE_URL"},
    {"redis-url", OPT_REDIS_URL, AT(redis_url), NULL, "Redis with the streams: " REDIS_URL_FORMS,
	OPT_REQUIRED, 0, 0, NULL, "REDIS_URL"},
    {"admin-listen", OPT_ADDRESS, AT(admin_listen), "127.0.0.1:9102",
	"Where /livez, /readyz and /metrics are served: " OPTION_ENDPOINT_FORMS, 0, 0, 0, NULL,
	NULL},
    {"instance", OPT_STRING, AT(instance), NULL,
	"Name of this process (default: host name, pid and a nonce)", 0, 0, 0, NULL, NULL},
    {"namespace", OPT_NAME, AT(name_space), "umavez", "Prefix of every Redis key", 0, 0, 0, NULL,
	NULL},
    {"poll-interval", OPT_DURATION, AT(poll_interval_ms), "500ms",
	"How long a lost wake-up may delay a row", 0, 1, 60 * SECOND, NULL, NULL},
    {"tick-interval", OPT_DURATION, AT(tick_interval_ms), "2ms", "Least time between ticks", 0, 0,
	60 * SECOND, NULL, NULL},
    {"lease", OPT_DURATION, AT(lease_ms), "5s",
	"How long a shard stays with a relay that is silent", 0, 100, 3600 * SECOND, NULL, NULL},
    {"append-batch", OPT_INT, AT(append_batch), "1000", "Most entries in one append", 0, 1, 100000,
	NULL, NULL},
    {"max-event", OPT_SIZE, AT(max_event), "1MiB",
	"Largest event; a larger one stops its shard until this is raised", 0, 1024, 512 << 20,
	NULL, NULL},
    {"stream-max-length", OPT_INT, AT(stream_max_length), "1000000",
	"Stream length at which a shard waits for its consumers", 0, 1, INT64_MAX, NULL, NULL},
    {"replay-margin", OPT_DURATION, AT(replay_margin_ms), "10min",
	"How far before the lowest acknowledged entry an empty stream is filled again", 0, 0,
	3650LL * DAY, NULL, NULL},
    {"trim-interval", OPT_DURATION, AT(trim_interval_ms), "10s",
	"How often acknowledged entries are trimmed", 0, 10, DAY, NULL, NULL},
    {"retention", OPT_DURATION, AT(retention_ms), "7d",
	"How long rows stay in the outbox after they were published and acknowledged", 0,
	60 * SECOND, 3650LL * DAY, NULL, NULL},
    {"retention-interval", OPT_DURATION, AT(retention_interval_ms), "1min",
	"How often what is past its retention is looked for", 0, 10, DAY, NULL, NULL},
    {"lease-off", OPT_BOOL, AT(lease_off), "off",
	"For tests: work on every shard without a lease, beside other relays", 0, 0, 0, NULL, NULL},
    SERVICE_OPTIONS(AT(log_level), AT(log_format)),
    {0},
};
