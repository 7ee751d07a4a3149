/*
 * reprocess.h - write what a quarantined notification is understood as now.
 */
#ifndef UMAVEZ_CLI_REPROCESS_H
#define UMAVEZ_CLI_REPROCESS_H

#include "common/err.h"
#include "producer/notification.h"

#include <libpq-fe.h>

enum reprocess_outcome {
	REPROCESS_DONE,
	REPROCESS_GONE,      /* it is not quarantined any more */
	REPROCESS_DUPLICATE, /* it was received again under the id that can be read now */
};

/* One transaction: notification, purchase and outbox row.  id is the one that it is kept under. */
int reprocess_write(PGconn *intake, const char *id, const struct notification *n,
    enum reprocess_outcome *ret_outcome, struct err *err) warn_unused;

#endif
