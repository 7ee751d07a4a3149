/*
 * google_play.h - Google Play's real-time developer notifications, pushed by Pub/Sub.
 *
 * https://developer.android.com/google/play/billing/rtdn-reference and
 * https://cloud.google.com/pubsub/docs/push.  The id is "<packageName>/<messageId>"; it is
 * "/<messageId>" where the package cannot be read, since a message is unique in its topic only.
 */
#ifndef UMAVEZ_GOOGLE_PLAY_H
#define UMAVEZ_GOOGLE_PLAY_H

#include "common/err.h"
#include "common/option.h"
#include "producer/google_token.h"
#include "producer/store.h"

/* All of it is borrowed until google_play_free(). */
struct google_play_config {
	struct google_token_rules rules;
	struct jwks *keys;
	struct option_list packages; /* empty: every package */
};

struct google_play;

/* ERR_USAGE: no audience or no push account. A push that does not say who sends it is never taken.
 */
int google_play_new(const struct google_play_config *config, struct google_play **ret_google,
    struct err *err) warn_unused;
void google_play_free(struct google_play *g); /* NULL is fine */

/* A store_read_fn. Authentic is what our audience's push account sends; what it sends for a package
 * that is not ours is quarantined. */
enum verdict google_play_read(void *google, const struct webhook *hook,
    struct notification **ret_notification, struct refusal *ret_refusal);

/* Why a notification is quarantined that is for none of the given packages. */
#define GOOGLE_PLAY_OTHER_PACKAGE "its package is none of --google-package"

/*
 * What a body that was authentic when it came says to today's parser: no token is checked again.
 * packages as in google_play_config; pubsub_message_id as it was, which an unwrapped push needs.
 * Never NULL; unrecognized, with the reason, if it still is.
 */
struct notification *google_play_reread(
    const struct option_list *packages, const struct webhook *hook);

#endif
