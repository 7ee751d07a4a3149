/*
 * reconcile.h - the ledger of everything that was told: what became of each outbox row, for each
 * consumer.
 */
#ifndef UMAVEZ_CLI_RECONCILE_H
#define UMAVEZ_CLI_RECONCILE_H

#include "cli/print.h"
#include "common/err.h"

#include <stddef.h>
#include <stdint.h>

enum fate {
	FATE_APPLIED,
	FATE_RETRYING,
	FATE_HELD,
	FATE_FAILED,
	FATE_WAITING,    /* published behind the consumer's cursor, or about to be */
	FATE_PURGED,     /* at or below the purge floor: its inbox row may have been removed */
	FATE_UNRETAINED, /* its tick or its row is retained no longer: nobody can tell */
	FATE_EARLY,      /* written before this consumer existed, and trimmed before it came */
	FATE_LOST,
	FATES
};
extern const char *const fate_names[FATES];

struct sources;

struct consumer_account {
	char *name;
	int64_t rows[FATES];
};

struct reconciliation {
	int64_t rows;          /* outbox rows that are old enough */
	int64_t again;         /* of these, written by umavez republish */
	int64_t younger;       /* and those that are not, about */
	int64_t older_than_ms; /* what that means */
	size_t n_consumers;
	struct consumer_account *consumers;
	json_t *lost;    /* array: the first of them, as objects with consumer, source, ... */
	json_t *gaps;    /* array: where streams went on behind rows that were gone */
	int64_t entries; /* of the ledger */
	int64_t doubled; /* entries not written with their message's inbox row */
};

struct reconcile_options {
	const char *consumer;  /* NULL: all */
	int64_t older_than_ms; /* younger rows are not looked at */
	int64_t list;          /* so many of the lost are listed */
	bool forget_gaps;      /* once they have been told */
};

/*
 * Reads everything, page by page: its memory and its transactions are bounded by a page, whatever
 * the size of the outbox.  ERR_FATAL: there is no such consumer.  Free with reconcile_done().
 */
int reconcile_read(struct sources *sources, const struct reconcile_options *options,
    struct reconciliation *ret, struct err *err) warn_unused;
void reconcile_done(struct reconciliation *r);

/*
 * The fate of one outbox row for one consumer, by the same rule: what `umavez trace` says of it.
 * A row that is not there is FATE_UNRETAINED.
 */
int reconcile_fate(struct sources *sources, int64_t outbox_id, const char *consumer,
    enum fate *ret_fate, struct err *err) warn_unused;

/* Over all consumers. */
int64_t reconcile_lost(const struct reconciliation *r);

void reconcile_print_json(FILE *out, const struct reconciliation *r);
void reconcile_print(const struct printer *p, const struct reconciliation *r);

#endif
