#include "tests/producer/stage.h"

#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/http.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

int64_t stage_queued(struct proc *producer)
{
	char *url = text_format("%s/metrics", proc_admin_url(producer));
	struct http_answer answer;
	int64_t queued = -1;

	http_request("GET", url, NULL, NULL, 0, 5000, &answer);
	const char *line = strstr(answer.body, "\numavez_queue_depth ");
	if (line)
		queued = strtoll(line + strlen("\numavez_queue_depth "), NULL, 10);
	http_answer_done(&answer);
	free(url);
	return queued;
}

bool stage_await_lock_waits(struct world *w, int n)
{
	return world_await_int(w, n, 10000,
	    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
	    " AND application_name LIKE 'umavez-producer/%%'");
}

PGconn *stage_lock(struct world *w, const char *subscription)
{
	PGconn *locker = world_pg(w);
	char *sql = text_format("BEGIN; SELECT 1 FROM intake.purchase"
				" WHERE store_purchase_id = '%s' FOR UPDATE",
	    subscription);

	PQclear(PQexec(locker, sql));
	free(sql);
	return locker;
}

void stage_unlock(PGconn *locker)
{
	PQclear(PQexec(locker, "COMMIT"));
	PQfinish(locker);
}

struct queued_in {
	struct proc *producer;
	int64_t n;
};

static bool is_queued(void *ctx)
{
	const struct queued_in *q = ctx;

	return stage_queued(q->producer) == q->n;
}

bool stage_await_queued(struct proc *producer, int64_t n)
{
	struct queued_in q = {producer, n};

	return await(is_queued, &q, 10000);
}

struct proc *stage_producer(struct world *w, const char *const *args)
{
	struct proc *p = world_producer(w, args, NULL);

	if (!proc_await_ready(p, 10000))
		die("a producer is not ready");
	return p;
}

void stage_end(struct proc *producer)
{
	proc_kill(producer, SIGTERM);
	CHECK_INT(proc_wait(producer, 10000), 0);
}

int64_t stage_whole(struct world *w, const char *id_pattern)
{
	return world_int(w,
	    "SELECT count(*) FROM intake.notification AS n JOIN intake.outbox AS o"
	    " ON (o.source, o.message_id, o.xid) = (n.store, n.notification_id, n.xid)"
	    " JOIN intake.purchase AS p USING (store, store_purchase_id)"
	    " WHERE n.notification_id ~ '%s' AND p.xid IN (SELECT m.xid FROM intake.notification "
	    "AS m"
	    "  WHERE (m.store, m.store_purchase_id) = (p.store, p.store_purchase_id))",
	    id_pattern);
}

int64_t stage_rows(struct world *w, const char *id_pattern)
{
	return world_int(w,
	    "SELECT (SELECT count(*) FROM intake.notification WHERE notification_id ~ '%s')"
	    " + (SELECT count(*) FROM intake.outbox WHERE message_id ~ '%s')"
	    " + (SELECT count(*) FROM intake.purchase WHERE last_notification_id ~ '%s')",
	    id_pattern, id_pattern, id_pattern);
}
