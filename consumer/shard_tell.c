/*
 * What the log says of failures: a warning when a message is parked, an error when it is a dead
 * letter, and for whole batches a line at once and then one a minute.
 */
#include "common/event.h"
#include "common/log.h"
#include "consumer/batch.h"
#include "consumer/parked.h"
#include "consumer/progress.h"
#include "consumer/shard_private.h"

#include <string.h>

#define LOG_PACE_MS 60000

struct message {
	struct stream_id stream_id;
	const char *source, *message_id, *subject;
};

static void tell(const struct shard *s, const struct message *m, const struct parking *parking,
    const struct err *why)
{
	bool failed = parking->state == PARKED_FAILED;
	char id[STREAM_ID_SIZE];

	LOG_AT(failed ? LOG_ERROR : LOG_WARN,
	    failed ? "message failed: see umavez dead-letter" : "message parked, will try again",
	    lf_int("shard", s->n), lf_str("stream_id", stream_id_format(m->stream_id, id)),
	    lf_str("source", m->source), lf_str("message_id", m->message_id),
	    lf_str("subject", m->subject), lf_int("attempt", parking->starts),
	    lf_int("retry_ms", failed ? 0 : parking->wait_ms), lf_str("sqlstate", why->sqlstate),
	    lf_err(why), lf_end());
}

void shard_tell_parked(const struct shard *s, const struct event *event,
    const struct parking *parking, const struct err *why)
{
	const struct message m = {event->stream_id, event->field[EVENT_SOURCE].s,
	    event->field[EVENT_ID].s, event->field[EVENT_SUBJECT].s};

	tell(s, &m, parking, why);
}

void shard_tell_retried(const struct shard *s, const struct parked *p,
    const struct parking *parking, const struct err *why)
{
	const struct message m = {p->stream_id, p->source, p->message_id, p->subject};

	/* That it is parked was said when it first failed; what was held had not failed then. */
	if (parking->state == PARKED_FAILED || parking->starts == 1)
		tell(s, &m, parking, why);
	else
		log_debug("parked message failed again", lf_int("shard", s->n),
		    lf_str("source", p->source), lf_str("message_id", p->message_id),
		    lf_int("attempt", parking->starts), lf_int("retry_ms", parking->wait_ms),
		    lf_err(why));
}

void shard_note_end(struct shard *s, struct stream_id at, const struct err *why)
{
	s->ended.at = at;
	s->ended.why = *why;
}

void shard_why_ended(
    const struct shard *s, struct stream_id at, const char *during, struct err *ret_why)
{
	const struct err *last = &s->ended.why;

	/* A process that died took what it knew along. */
	if (stream_id_compare(s->ended.at, at) != 0) {
		err_set(ret_why, ERR_REJECT, "the consumer or its session ended during %s", during);
		return;
	}
	err_set(ret_why, ERR_REJECT,
	    "the consumer or its session ended during %s; the last said %s%s%s", during,
	    last->sqlstate, *last->sqlstate ? ": " : "", last->message);
	memcpy(ret_why->context, last->context, sizeof(last->context));
}

void shard_tell_plan(
    struct shard *s, const struct batch *batch, struct failure_plan plan, const struct err *why)
{
	char id[STREAM_ID_SIZE];

	progress_stuck(s->options->progress, s->n, "%s", why->message);
	if (!pace_due(&s->failure_pace, clock_mono_us(), LOG_PACE_MS))
		return;
	log_warn(plan.action == FAILURE_ONE_BY_ONE ? "batch not applied, going on one by one"
						   : "batch not applied, will try again",
	    lf_int("shard", s->n), lf_int("messages", (int64_t)batch->n),
	    lf_str("stream_id", stream_id_format(batch->first, id)),
	    lf_int("attempt", plan.attempt), lf_str("sqlstate", why->sqlstate), lf_err(why));
}
