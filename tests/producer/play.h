/*
 * play.h - a Google Play store as the producer has it, and authentic pushes for it.
 */
#ifndef UMAVEZ_TESTS_PLAY_H
#define UMAVEZ_TESTS_PLAY_H

#include "producer/google_play.h"

#define PLAY_NOW_S INT64_C(1767225600)
#define PLAY_PACKAGE "com.ex"

/* A notice of PLAY_PACKAGE, and the first 32 digits of its token's SHA-256. */
#define PLAY_RENEWED                                                                               \
	"{\"packageName\":\"com.ex\",\"eventTimeMillis\":\"1767225600123\","                       \
	"\"subscriptionNotification\":{\"notificationType\":2,\"purchaseToken\":\"tok1\"}}"
#define PLAY_TOKEN_DIGEST "80b3ad2d438bfafa1ea690c5a59f5454"

struct play {
	struct jwks *keys;
	char *authorization; /* of a push that is authentic at PLAY_NOW_S */
	struct google_play *store;
	struct google_play *store_of_ours; /* --google-package PLAY_PACKAGE */
};

struct play *play_open(void);
void play_close(struct play *p);

/* What comes of an authentic push, which carries this hook's body and message id; free it with
 * notification_free(). */
struct notification *play_read(struct play *p, struct google_play *store, struct webhook hook);
struct notification *play_read_body(struct play *p, const char *body);

/* The notice as message 42, wrapped. */
struct notification *play_read_notice(struct play *p, const char *notice);

/* n is kept, unrecognized, under this id, or under one of its bytes (NULL).  n is freed. */
void play_expect_kept(struct notification *n, const char *id);

/* n is a renewal of "tok1" under this id.  n is freed. */
void play_expect_renewed(struct notification *n, const char *id);

#endif
