/*
 * inbox_private.h - what the verbs of inbox.h and parked.h share: the shard's session.
 */
#ifndef UMAVEZ_CONSUMER_INBOX_PRIVATE_H
#define UMAVEZ_CONSUMER_INBOX_PRIVATE_H

#include "consumer/inbox.h"

#include <libpq-fe.h>

struct inbox {
	const struct inbox_options *options;
	PGconn *conn;
	unsigned shard;
	char shard_text[12];
	bool handler_ran; /* the last failure came while, or after, the handler ran */
};

/* Leave no transaction open. If that fails, the session is broken, and closing it rolls back. */
void inbox_roll_back(struct inbox *b);

#endif
