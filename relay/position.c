#include "relay/position.h"

static bool is_zero(struct stream_id id)
{
	return id.ms == 0 && id.seq == 0;
}

static struct stream_id later(struct stream_id a, struct stream_id b)
{
	return stream_id_compare(a, b) < 0 ? b : a;
}

/* Everything that the stream holds is older than what can still be recognised as ours. */
static bool is_outdated(const struct position_input *in)
{
	return is_zero(in->own) && !is_zero(in->last) &&
	       stream_id_compare(in->last, in->oldest) < 0;
}

/* The acknowledged entry's whole tick, also without a margin: somebody else's entry may have got
 * the ID of that entry when Redis had lost it. */
static struct stream_id before_acknowledged(const struct position_input *in)
{
	uint64_t margin = (uint64_t)in->margin_ms;

	if (!in->has_acknowledged || in->acknowledged.ms <= margin)
		return STREAM_ID_ZERO;
	return (struct stream_id){in->acknowledged.ms - margin, 0};
}

struct stream_id position_start(const struct position_input *in)
{
	if (!is_zero(in->own))
		return in->own;
	if (is_outdated(in))
		return in->oldest;
	return later(before_acknowledged(in), in->oldest);
}

static bool lost_entries(const struct position_input *in)
{
	if (stream_id_compare(in->last, in->known) < 0)
		return true;
	return in->has_acknowledged && stream_id_compare(in->last, in->acknowledged) < 0;
}

/* What retention let go was acknowledged first, and so was everything before the end of an outdated
 * stream that ends where the groups do: of a shard that was idle for long nothing is missing. */
static bool has_gap(const struct position_input *in)
{
	if (!is_zero(in->own))
		return false;
	if (is_outdated(in))
		return !in->has_acknowledged || stream_id_compare(in->last, in->acknowledged) < 0;
	return in->has_acknowledged && !is_zero(in->acknowledged) &&
	       stream_id_compare(in->acknowledged, in->oldest) < 0 &&
	       stream_id_compare(in->released, in->oldest) < 0;
}

static enum position_reason pause_reason(const struct position_input *in)
{
	if (in->kind == STREAM_WRONG_TYPE)
		return PAUSE_WRONG_TYPE;
	/* An entry of our own is as good as any, however its tick came by its name. */
	if (stream_id_compare(in->last, in->own) > 0 &&
	    in->last.ms > (uint64_t)(in->now_ms + POSITION_FUTURE_MS))
		return PAUSE_FAR_FUTURE;
	return PAUSE_NONE;
}

struct position position_decide(const struct position_input *in)
{
	struct position p = {
	    .action = POSITION_GO_ON,
	    .reason = pause_reason(in),
	    .start = position_start(in),
	    .rewind = lost_entries(in),
	    .gap = has_gap(in),
	    .aside = in->above > 0 && !is_outdated(in),
	    .setback = is_zero(in->known) || stream_id_compare(in->last, in->known) != 0,
	};

	if (p.reason != PAUSE_NONE)
		p.action = POSITION_PAUSE;
	else if (!is_zero(in->stray)) {
		/* Redis has brought back what a repair had made void. Who reads on behind it must
		 * find what follows it, which the repair may have begun behind. */
		p.action = POSITION_REPAIR;
		p.start = in->stray;
	} else if (!is_zero(in->unpublished) && stream_id_compare(in->unpublished, in->last) <= 0)
		p.action = POSITION_REPAIR; /* its own ID would not go behind the stream's end */
	else
		p.start = later(p.start, in->last);
	return p;
}

const char *position_reason_text(enum position_reason reason)
{
	switch (reason) {
	case PAUSE_WRONG_TYPE:
		return "the key of the stream holds another type: `umavez stream reset` moves it "
		       "aside, and what it lacks is published again";
	case PAUSE_FAR_FUTURE:
		return "the stream's last ID lies more than a day in the future and is not ours: "
		       "`umavez stream reset` moves it aside, and what it lacks is published again";
	case PAUSE_NONE:
		break;
	}
	return "";
}
