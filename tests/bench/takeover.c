#include "tests/bench/takeover.h"

#include "tests/support/die.h"
#include "tests/support/invariants.h"
#include "tests/support/pause.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>

#define LOAD_MS (3 * FLEET_LEASE_MS)
#define DEADLINE_MS 600000
#define SLACK_MS 1000 /* to claim, to begin with what waits, and to apply it */
#define LATEST_MS (FLEET_LEASE_MS + SLACK_MS)
#define THREADS 16

static struct load *begin_load(struct fleet *f, int per_second, uint64_t seed)
{
	const struct load_options options = {.seed = seed,
	    .notifications = per_second * LOAD_MS / 1000,
	    .duplicates = 0.1,
	    .threads = THREADS,
	    .per_second = per_second};
	const char *urls[FLEET_MAX + 1];
	struct load *l = load_new(&options, world_signer(f->g->w));

	fleet_urls(f, urls);
	load_start(l, urls);
	if (!load_await_part(l, 0.25, DEADLINE_MS))
		die("the load does not get ahead");
	return l;
}

/* Somebody who lives holds these shards. */
static double await_taken(struct fleet *f, const char *leases, const char *shards, pid_t dead)
{
	int64_t began_ms = now_ms();

	if (!world_await_int(f->g->w, 0, DEADLINE_MS,
		"SELECT count(*) FROM %s WHERE shard IN (%s) AND"
		" (holder IS NULL OR holder LIKE '%%:%d:%%' OR expires_at <= now())",
		leases, shards, (int)dead))
		die("nobody takes the shards %s", shards);
	return (double)(now_ms() - began_ms);
}

/* The longest wait of rows behind `first`, in these shards or in all but them. */
static double longest_wait(struct fleet *f, int64_t first, bool in, const char *shards)
{
	return (double)world_int(f->g->w,
		   "SELECT coalesce(max(bench.us(i.xid) - bench.us(o.xid)), 0)"
		   " FROM intake.outbox AS o JOIN effects.inbox AS i USING (source, message_id)"
		   " WHERE o.id > %" PRId64 " AND o.shard %s IN (%s)",
		   first, in ? "" : "NOT", shards) /
	       1000;
}

static double longest_pause(struct fleet *f, int64_t first)
{
	return (double)world_int(f->g->w,
		   "SELECT coalesce(max(at_us - before_us), 0) FROM (SELECT at_us,"
		   " lag(at_us) OVER (ORDER BY at_us) AS before_us FROM (SELECT bench.us(xid) AS"
		   " at_us FROM intake.outbox WHERE id > %" PRId64 ") AS t) AS t",
		   first) /
	       1000;
}

static int64_t last_row(struct fleet *f)
{
	return world_int(f->g->w, "SELECT coalesce(max(id), 0) FROM intake.outbox");
}

void takeover_run(struct fleet *f, enum fleet_service service, int per_second, uint64_t seed,
    struct account *account, struct takeover *ret)
{
	const char *leases = fleet_leases[service];
	struct proc *victim = f->all[service][0];
	pid_t pid = proc_pid(victim);
	char *shards = fleet_shards(f, service, 0);
	int64_t first = last_row(f);
	struct load *l = begin_load(f, per_second, seed);
	struct load_totals totals;

	*ret = (struct takeover){.taken_ms = NAN, .others_ms = NAN};
	proc_kill(victim, SIGKILL);
	if (leases != NULL)
		ret->taken_ms = await_taken(f, leases, shards, pid);
	if (!load_wait(l, DEADLINE_MS) || !invariants_await(f->g->w, DEADLINE_MS))
		die("not all was answered and applied");
	if (leases != NULL) {
		ret->its_ms = longest_wait(f, first, true, shards);
		ret->others_ms = longest_wait(f, first, false, shards);
	} else {
		ret->its_ms = longest_pause(f, first);
	}
	load_totals(l, &totals);
	ret->unanswered = totals.unanswered;
	account_add(account, f->g->w, l);
	load_free(l);
	free(shards);
	proc_restart(victim);
	fleet_await_shares(f);
}

bool takeover_in_time(const struct takeover *t)
{
	/* What was not measured is not late. */
	return !(t->taken_ms > LATEST_MS) && !(t->its_ms > LATEST_MS) &&
	       !(t->others_ms > LATEST_MS);
}
