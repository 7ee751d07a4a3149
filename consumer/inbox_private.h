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

/* After the handler, before COMMIT: 0, or -1 if it left the session with another encoding, in which
 * every text that comes after would be another one, keys included. Rolling back restores it. */
int inbox_check_encoding(struct inbox *b, struct err *err);

/* Leave no transaction open. If that fails, the session is broken, and closing it rolls back. */
void inbox_roll_back(struct inbox *b);

#endif
