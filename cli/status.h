/*
 * status.h - what `umavez status` found out, shard by shard, and its two forms.
 */
#ifndef UMAVEZ_CLI_STATUS_H
#define UMAVEZ_CLI_STATUS_H

#include "cli/backlog.h"
#include "cli/print.h"

/* Numbers may be BACKLOG_UNKNOWN: without Redis nobody knows what is in the stream. */
struct consumer_status {
	char *name;
	char *holder; /* NULL: nobody */
	struct stream_id cursor;
	int64_t lag_entries;
	int64_t lag_ms; /* age of the first entry that it has not applied */
};

struct shard_status {
	unsigned shard;
	char *relay; /* NULL: nobody */
	int64_t unticked;
	int64_t unpublished;
	int64_t stream_length;
	size_t n_consumers;
	struct consumer_status *consumers;
};

struct status {
	int64_t now_ms; /* the intake database's clock */
	size_t n_shards;
	struct shard_status *shards;
	int64_t failed, retrying, held, quarantined;
};

struct sources;
int status_read(struct sources *sources, struct status *ret_status, struct err *err) warn_unused;
void status_done(struct status *s);

void status_print_json(FILE *out, const struct status *s);
void status_print(const struct printer *p, const struct status *s);

#endif
