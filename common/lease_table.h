/*
 * lease_table.h - the SQL verbs of lease.c, the same for both schemas.
 *
 *   intake.shard_lease (shard, holder, term, expires_at)      intake.instance (holder, expires_at)
 *   effects.shard_lease (consumer, shard, ...)                effects.instance (consumer, holder,
 * ...)
 *
 * All times are the database's clock_timestamp().  Each verb is one short transaction.
 */
#ifndef UMAVEZ_LEASE_TABLE_H
#define UMAVEZ_LEASE_TABLE_H

#include "common/lease.h"
#include "common/lease_worker.h"

#include <libpq-fe.h>

struct lease_table;

/* options is borrowed. */
struct lease_table *lease_table_new(const struct lease_options *options);
void lease_table_free(struct lease_table *t); /* NULL is fine */

/* Make the rows that this consumer lacks, having said that we live; intake's are made by migrate.
 * Writes shard_lease. */
int lease_table_prepare(const struct lease_table *t, PGconn *conn, struct err *err) warn_unused;

/* Renew the HELD and RESTING ones; ret_renewed[shard] says whose row still carries our name and
 * term.  Writes shard_lease. */
int lease_table_renew(const struct lease_table *t, PGconn *conn, const struct lease *leases,
    bool *ret_renewed, struct err *err) warn_unused;

/* Say that we live, clear away some who do not, count who does, ourselves included.
 * *ret_expiry_ms: until the first presence or lease of somebody else ends, unless it is renewed
 * before; INT64_MAX: there is none.  Writes instance. */
int lease_table_attend(const struct lease_table *t, PGconn *conn, unsigned *ret_instances,
    int64_t *ret_expiry_ms, struct err *err) warn_unused;

/* Claim up to limit rows that nobody holds, never one that is not FREE here; ret_terms[shard] is
 * its new term, 0 elsewhere.  Writes shard_lease. */
int lease_table_claim(const struct lease_table *t, PGconn *conn, const struct lease *leases,
    unsigned limit, int64_t *ret_terms, struct err *err) warn_unused;

/* Nobody holds it any more, if we still did.  Writes shard_lease. */
int lease_table_release(const struct lease_table *t, PGconn *conn, const struct lease *lease,
    struct err *err) warn_unused;

/* We are gone.  Writes instance. */
int lease_table_leave(const struct lease_table *t, PGconn *conn, struct err *err) warn_unused;

#endif
