/*
 * From the facts to the steps, the outcome and the reason: pure, every branch.
 */
#include "cli/backlog.h"
#include "cli/trace.h"
#include "tests/support/check.h"

#include <string.h>

#define ASK_IT "; if that lasts, its log and its /readyz say why"

static const struct trace_position position = {
    .id = {100, 7}, .ticked_ms = 1002, .published_ms = TRACE_UNKNOWN};
static const struct trace_consumer consumer = {.name = (char[]){"c"},
    .lag_entries = BACKLOG_UNKNOWN,
    .fate = FATE_WAITING,
    .published_ms = TRACE_UNKNOWN,
    .delivered_ms = TRACE_UNKNOWN,
    .applied_ms = TRACE_UNKNOWN};

/* Committed, ticked, the stream empty, one consumer at 0-0. */
static struct trace facts(struct trace_position *p, struct trace_consumer *c)
{
	*p = position;
	*c = consumer;
	return (struct trace){.is_notification = true,
	    .has_row = true,
	    .outbox_id = 7,
	    .received_ms = 1000,
	    .committed_ms = 1001,
	    .last_tick_ms = 1002,
	    .now_ms = 5002,
	    .shard = 3,
	    .n_positions = 1,
	    .positions = p,
	    .stream_known = true,
	    .n_consumers = 1,
	    .consumers = c};
}

static void check_told(const struct trace *t, const char *outcome, const char *stuck)
{
	struct trace_verdict v;

	trace_tell(t, &v);
	CHECK_STR(trace_outcome_name(v.outcome), outcome);
	CHECK_STR(v.stuck, stuck);
	trace_verdict_done(&v);
}

static void check_unticked(void)
{
	struct trace_position p;
	struct trace_consumer c;
	struct trace t = facts(&p, &c);

	t.n_positions = 0;
	check_told(&t, "unpublished", "not ticked: no relay holds shard 3");
	t.relay = (char[]){"r"};
	check_told(&t, "unpublished",
	    "not ticked: the relay r holds shard 3 and cut its last tick 4.0 s ago" ASK_IT);
	t.last_tick_ms = TRACE_UNKNOWN;
	check_told(&t, "unpublished", "not ticked: shard 3 has no ticks: run umavez migrate");
	t.has_row = false;
	check_told(&t, "forgotten",
	    "every group had acknowledged it when retention dropped its outbox row, and no inbox "
	    "has it (any more)");
	t.is_notification = false;
	check_told(&t, "unpublished",
	    "no outbox has it, and no inbox: another database published it, or this one lost its "
	    "commit");
	t.is_quarantined = true;
	check_told(&t, "quarantined", "not understood");
}

static void check_unpublished(void)
{
	struct trace_position p;
	struct trace_consumer c;
	struct trace t = facts(&p, &c);

	check_told(&t, "unpublished", "ticked as 100-7, not published: no relay holds shard 3");
	t.relay = (char[]){"r"};
	t.stream = (struct stream_view){1, {100, 6}, {100, 6}};
	check_told(&t, "unpublished",
	    "ticked as 100-7, not published: the relay r has got to 100-6" ASK_IT);
	t.stream = (struct stream_view){2, {100, 6}, {100, 8}};
	check_told(&t, "unpublished", "the stream of shard 3 has passed 100-7 without it");
	t.stream_known = false;
	t.stream_problem = (char[]){"gone"};
	check_told(
	    &t, "unpublished", "ticked as 100-7; whether it is in the stream cannot be said: gone");
}

static void check_unapplied(void)
{
	struct trace_position p;
	struct trace_consumer c;
	struct trace t = facts(&p, &c);

	p.published = true;
	check_told(
	    &t, "pending", "published, the consumer c has not got to it: nobody holds the lease");
	c.has_cursor = true;
	c.lag_entries = 12;
	check_told(&t, "pending",
	    "published, the consumer c has not got to it: lag 12 entries, nobody holds the lease");
	c.holder = (char[]){"h"};
	check_told(&t, "pending",
	    "published, the consumer c has not got to it: lag 12 entries, h holds the "
	    "lease" ASK_IT);
	c.cursor = (struct stream_id){100, 7};
	check_told(
	    &t, "pending", "the cursor of c is at 100-7, past it, but its inbox does not have it");
	t.n_consumers = 0;
	check_told(&t, "pending", "published, no consumer has read shard 3 yet");
}

/* Trimmed from the beginning, or seen by an inbox: it was published. */
static void check_published_by_witness(void)
{
	struct trace_position p;
	struct trace_consumer c;
	struct trace t = facts(&p, &c);

	t.stream = (struct stream_view){1, {100, 8}, {100, 8}};
	c.has_cursor = true;
	c.cursor = (struct stream_id){100, 6};
	check_told(
	    &t, "pending", "published, the consumer c has not got to it: nobody holds the lease");
	t = facts(&p, &c);
	t.stream_known = false;
	c.applied = true;
	c.stream_id = p.id;
	check_told(&t, "applied", NULL);
}

/* A consumer that began after the trim will not apply it: nobody waits for that one. */
static void check_missed(void)
{
	static const char missed[] =
	    "the consumer c began after it was trimmed from the stream and will not apply it";
	struct trace_position p;
	struct trace_consumer c[2];
	struct trace t = facts(&p, c);

	t.stream = (struct stream_view){1, {100, 8}, {100, 8}};
	check_told(&t, "missed", missed);
	c->has_cursor = true;
	check_told(&t, "missed", missed);
	c->cursor = (struct stream_id){100, 6};
	c->fate = FATE_EARLY;
	check_told(&t, "missed", missed);
	c[1] = consumer;
	c[1].name = (char[]){"d"};
	c[1].has_cursor = true;
	c[1].cursor = (struct stream_id){100, 6};
	t.n_consumers = 2;
	check_told(
	    &t, "pending", "published, the consumer d has not got to it: nobody holds the lease");
	c[1].applied = true;
	c[1].stream_id = p.id;
	check_told(&t, "applied", NULL);
}

/* As reconcile judges it: whatever another consumer has made of it, lost is told first. */
static void check_lost(void)
{
	struct trace_position p;
	struct trace_consumer c[2];
	struct trace t = facts(&p, c);
	struct trace_verdict v;

	c[0].fate = FATE_LOST;
	c[0].has_cursor = true;
	c[0].cursor = (struct stream_id){100, 8};
	c[1] = consumer;
	c[1].applied = true;
	c[1].stream_id = p.id;
	t.n_consumers = 2;
	check_told(&t, "lost",
	    "the cursor of c is at 100-8, past it, but its inbox does not have it; umavez "
	    "republish tells it again");
	trace_tell(&t, &v);
	CHECK_INT(v.standings[0], OUTCOME_LOST);
	CHECK_INT(v.standings[1], OUTCOME_APPLIED);
	trace_verdict_done(&v);
	c[0].fate = FATE_PURGED;
	check_told(&t, "applied", NULL);
	t.n_consumers = 1;
	check_told(&t, "forgotten",
	    "the cursor of c is past it, and retention or a purge has removed what would tell "
	    "whether it was applied");
	c[0].fate = FATE_UNRETAINED;
	t.n_positions = 0;
	check_told(&t, "forgotten",
	    "the cursor of c is past it, and retention or a purge has removed what would tell "
	    "whether it was applied");
}

static void check_last_step(const struct trace *t, const char *step)
{
	struct trace_verdict v;

	trace_tell(t, &v);
	CHECK_STR(trace_step_name(v.steps[v.n_steps - 1].kind), step);
	trace_verdict_done(&v);
}

static void check_parked(void)
{
	struct trace_position p;
	struct trace_consumer c;
	struct trace t = facts(&p, &c);

	c.stream_id = p.id;
	c.parked = (char[]){"retrying"};
	c.error = (char[]){"P0001: no"};
	c.starts = 2;
	c.next_ms = 1767225600123;
	check_told(&t, "retrying",
	    "the handler of c fails: P0001: no; started 2 times, again at "
	    "2026-01-01T00:00:00.123Z");
	check_last_step(&t, "retrying");
	c.parked = (char[]){"failed"};
	check_told(&t, "failed", "for c after 2 starts: P0001: no; see umavez dead-letter");
	check_last_step(&t, "failed");
	c.parked = (char[]){"discard"};
	check_told(&t, "retrying", "marked by an operator for c: discard");
	c.remark = (char[]){"a test"};
	check_told(&t, "retrying", "marked by an operator for c: discard (a test)");
	c.parked = (char[]){"held"};
	c.ahead = (char[]){"app_store/m1"};
	c.ahead_state = (char[]){"failed"};
	c.ahead_error = c.error;
	check_told(&t, "held", "for c behind app_store/m1, which is failed: P0001: no");
	check_last_step(&t, "held");
	c.parked = (char[]){"retrying"};
	c.error = NULL;
	check_told(&t, "retrying", "it was held for c, and its turn has come");
	c.parked = NULL;
	c.applied = true;
	c.discarded = (char[]){"a test"};
	check_told(&t, "discarded", "for c: a test");
	check_last_step(&t, "discarded");
}

/* A failure is told before another consumer's delay. */
static void check_trouble_first(void)
{
	struct trace_position p;
	struct trace_consumer c;
	struct trace t = facts(&p, &c);
	struct trace_consumer all[] = {c, c, c};

	p.published = true;
	all[1].parked = (char[]){"held"};
	all[2].parked = (char[]){"failed"};
	all[2].starts = 5;
	t.consumers = all;
	t.n_consumers = 3;
	check_told(&t, "failed", "for c after 5 starts: no error is known; see umavez dead-letter");
	t.n_consumers = 2;
	check_told(&t, "held", "for c behind ?, which is gone");
}

static void check_times(void)
{
	static const int64_t after[] = {TRACE_UNKNOWN, 1, 1, 3, 5, 10};
	struct trace_position p;
	struct trace_consumer c;
	struct trace t = facts(&p, &c);
	struct trace_verdict v;

	c = (struct trace_consumer){.name = (char[]){"c"},
	    .applied = true,
	    .stream_id = p.id,
	    .published_ms = 1005,
	    .delivered_ms = 1010,
	    .applied_ms = 1020};
	trace_tell(&t, &v);
	CHECK_INT((int64_t)v.n_steps, 6);
	for (size_t i = 0; i < 6; i++)
		CHECK_INT(v.steps[i].after_ms, after[i]);
	trace_verdict_done(&v);
	/* It was delivered from its first entry, not from the one that came later. */
	struct trace_position twice[] = {
	    p, {.id = {200, 7}, .ticked_ms = 8000, .published = true, .published_ms = 9000}};
	t.positions = twice;
	t.n_positions = 2;
	trace_tell(&t, &v);
	CHECK_INT((int64_t)v.n_steps, 8);
	CHECK_INT(v.steps[5].after_ms, 1000);
	CHECK_INT(v.steps[6].after_ms, TRACE_UNKNOWN);
	CHECK_INT(v.steps[7].after_ms, 10);
	trace_verdict_done(&v);
	t.positions = &p;
	t.n_positions = 1;
	/* A time that nobody told gives no time between. */
	t.committed_ms = TRACE_UNKNOWN;
	trace_tell(&t, &v);
	CHECK_INT(v.steps[1].after_ms, TRACE_UNKNOWN);
	CHECK_INT(v.steps[2].after_ms, TRACE_UNKNOWN);
	CHECK_INT(v.steps[3].after_ms, 3);
	trace_verdict_done(&v);
}

static const struct check checks[] = {
    {"not ticked", check_unticked},
    {"not published", check_unpublished},
    {"not applied", check_unapplied},
    {"parked", check_parked},
    {"trouble before delay", check_trouble_first},
    {"what tells that it was published", check_published_by_witness},
    {"trimmed before a consumer began", check_missed},
    {"lost, and what nobody can tell any more", check_lost},
    {"the time between", check_times},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("cli tell", checks, argc, argv);
}
