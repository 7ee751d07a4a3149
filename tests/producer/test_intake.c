#include "tests/producer/deliver.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/signer.h"
#include "tests/support/world.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct world *world;

static struct proc *start(const char *const *args)
{
	struct proc *p = world_producer(world, args, NULL);

	CHECK(proc_await_ready(p, 10000));
	return p;
}

/* A sanitizer looks for leaks at a regular end only. */
static void stop(struct proc *p)
{
	proc_kill(p, SIGTERM);
	CHECK_INT(proc_wait(p, 10000), 0);
}

/* Those of these notifications that are whole (P3): an outbox row of the same transaction, and a
 * purchase that the transaction of one of its notifications has written. */
static int64_t whole(const char *id_pattern)
{
	return world_int(world,
	    "SELECT count(*) FROM intake.notification AS n JOIN intake.outbox AS o"
	    " ON (o.source, o.message_id, o.xid) = (n.store, n.notification_id, n.xid)"
	    " JOIN intake.purchase AS p USING (store, store_purchase_id)"
	    " WHERE n.notification_id ~ '%s' AND p.xid IN (SELECT m.xid FROM intake.notification "
	    "AS m"
	    "  WHERE (m.store, m.store_purchase_id) = (p.store, p.store_purchase_id))",
	    id_pattern);
}

static int64_t kept(const char *id_pattern)
{
	return world_int(world,
	    "SELECT (SELECT count(*) FROM intake.notification WHERE notification_id ~ '%s')"
	    " + (SELECT count(*) FROM intake.outbox WHERE message_id ~ '%s')"
	    " + (SELECT count(*) FROM intake.purchase WHERE last_notification_id ~ '%s')",
	    id_pattern, id_pattern, id_pattern);
}

enum { STORM = 50 };

static void storm(const char *url, const char *const *headers, const char *body)
{
	int statuses[STORM];

	http_storm(url, headers, body, strlen(body), STORM, statuses);
	for (int i = 0; i < STORM; i++)
		CHECK_INT(statuses[i], 200);
}

static void b21_fifty_identical_posts_of_each_store(void)
{
	struct proc *p = start(NULL);
	struct signer *signer = world_signer(world);
	struct apple_spec spec = {.uuid = "b21a0000-0000-4000-8000-000000000001",
	    .type = "SUBSCRIBED",
	    .subtype = "INITIAL_BUY",
	    .original_transaction_id = "b21",
	    .transaction_id = "b21",
	    .product_id = "pro",
	    .price_milliunits = 9990,
	    .currency = "EUR",
	    .auto_renew = 1};
	char *event = deliver_event("evt_b21", "sub_b21"), *body, *url, *header;
	char *signature = sign_stripe(SIGNER_STRIPE_SECRET, time(NULL), event, strlen(event));

	url = text_format("%s/webhooks/stripe", proc_url(p));
	header = text_format("Stripe-Signature: %s", signature);
	storm(url, (const char *const[]){header, NULL}, event);
	free(url);
	free(header);

	body = apple_body(signer, &spec);
	url = text_format("%s/webhooks/app-store", proc_url(p));
	storm(url, (const char *const[]){NULL}, body);
	free(url);
	free(body);

	char *rtdn = google_subscription(4, "b21-token", "pro", (int64_t)time(NULL) * 1000);
	char *token = google_token(signer, time(NULL));
	body = google_body("b21", rtdn);
	url = text_format("%s/webhooks/google-play", proc_url(p));
	header = text_format("Authorization: %s", token);
	storm(url, (const char *const[]){header, NULL}, body);

	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"), 3);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.purchase"), 3);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 3);
	CHECK_INT(whole(""), 3);
	CHECK_INT(deliver(proc_url(p), "evt_b21", "sub_b21", NULL), 200);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 3);
	free(url);
	free(header);
	free(body);
	free(rtdn);
	free(token);
	free(signature);
	free(event);
	stop(p);
}

static void two_producers_at_once(void)
{
	enum { EVENTS = 200 };
	struct proc *a = start(NULL), *b = start(NULL);

	for (int i = 0; i < EVENTS; i++) {
		struct delivery one, other;
		char id[32];

		snprintf(id, sizeof(id), "evt_pair_%d", i);
		delivery_start(&one, proc_url(a), id, id);
		delivery_start(&other, proc_url(b), id, id);
		delivery_join(&one);
		delivery_join(&other);
		CHECK_INT(one.status, 200);
		CHECK_INT(other.status, 200);
	}
	CHECK_INT(whole("^evt_pair_"), EVENTS);
	CHECK_INT(kept("^evt_pair_"), INT64_C(3) * EVENTS);
	stop(a);
	stop(b);
}

static void b17_the_exact_bytes_are_kept(void)
{
	static const char body[] = "{ \"id\":\"evt_b17\",\r\n \"t\":\"caf\\u00e9 \\/ \xc3\xa9\"}\n";
	struct proc *p = start(NULL);
	char *signature =
	    sign_stripe(SIGNER_STRIPE_TEST_SECRET, time(NULL), body, sizeof(body) - 1);
	char *header = text_format("Stripe-Signature: %s", signature);
	char *url = text_format("%s/webhooks/stripe", proc_url(p));
	const char *const headers[] = {
	    "Content-Type: application/json; charset=utf-8", header, NULL};
	struct http_answer answer;

	http_request("POST", url, headers, body, sizeof(body) - 2, 10000, &answer);
	CHECK_INT(answer.status, 401);
	http_answer_done(&answer);
	http_request("POST", url, headers, body, sizeof(body) - 1, 10000, &answer);
	CHECK_INT(answer.status, 200);
	http_answer_done(&answer);
	CHECK_INT(
	    world_int(world,
		"SELECT count(*) FROM intake.notification WHERE notification_id = 'evt_b17' AND"
		" sha256(body) = sha256(convert_to(E'{ \"id\":\"evt_b17\",\\r\\n"
		" \"t\":\"caf\\\\u00e9 \\\\/ \xc3\xa9\"}\\n', 'UTF8'))"),
	    1);
	free(url);
	free(header);
	free(signature);
	stop(p);
}

static void b22_a_refusal_keeps_nothing(void)
{
	struct proc *p = start(NULL);

	world_sql(world, "CREATE FUNCTION no_b22() RETURNS trigger LANGUAGE plpgsql AS"
			 " $$BEGIN RAISE EXCEPTION 'not this one'; END$$");
	world_sql(world, "CREATE TRIGGER no_b22 BEFORE INSERT ON intake.purchase FOR EACH ROW"
			 " WHEN (NEW.store_purchase_id = 'sub_b22') EXECUTE FUNCTION no_b22()");
	CHECK_INT(deliver(proc_url(p), "evt_b22", "sub_b22", NULL), 503);
	CHECK_INT(kept("^evt_b22$"), 0);
	CHECK(proc_await_log(p, "notification_id=evt_b22", 5000));
	world_sql(world, "DROP TRIGGER no_b22 ON intake.purchase");
	CHECK_INT(deliver(proc_url(p), "evt_b22", "sub_b22", NULL), 200);
	CHECK_INT(kept("^evt_b22$"), 3);
	world_sql(world, "DROP FUNCTION no_b22");
	stop(p);
}

/* In the extended protocol the rows arrive before the commit, which then fails. */
static void p4_rows_are_no_commit(void)
{
	struct proc *p = start(NULL);

	world_sql(world, "CREATE FUNCTION no_p4() RETURNS trigger LANGUAGE plpgsql AS"
			 " $$BEGIN RAISE EXCEPTION 'at commit'; END$$");
	world_sql(world, "CREATE CONSTRAINT TRIGGER no_p4 AFTER INSERT ON intake.notification"
			 " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
			 " WHEN (NEW.notification_id = 'evt_p4') EXECUTE FUNCTION no_p4()");
	CHECK_INT(deliver(proc_url(p), "evt_p4", "sub_p4", NULL), 503);
	CHECK_INT(kept("^evt_p4$"), 0);
	CHECK_INT(deliver(proc_url(p), "evt_p4_other", "sub_p4", NULL), 200);
	world_sql(world, "DROP TRIGGER no_p4 ON intake.notification");
	world_sql(world, "DROP FUNCTION no_p4");
	CHECK_INT(deliver(proc_url(p), "evt_p4", "sub_p4", NULL), 200);
	CHECK_INT(whole("^evt_p4"), 2);
	stop(p);
}

/* Committed here, and no standby has confirmed it: nobody may be told that it is durable. */
static void p4_a_warning_is_no_commit(void)
{
	struct proc *p = start(NULL);
	struct delivery d;
	char *body;

	world_sql(world, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
	world_sql(world, "SELECT pg_reload_conf()");
	CHECK(world_await_int(
	    world, 1, 5000, "SELECT (current_setting('synchronous_standby_names') <> '')::int"));
	delivery_start(&d, proc_url(p), "evt_sync", "sub_sync");
	CHECK(world_await_int(world, 1, 5000,
	    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	    " AND application_name LIKE 'umavez-producer/%%' AND query ~ 'receive'"));
	world_sql(world,
	    "SET synchronous_commit = local; SELECT pg_cancel_backend(pid)"
	    " FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query ~ 'receive'");
	delivery_join(&d);
	CHECK_INT(d.status, 503);
	world_sql(world, "ALTER SYSTEM RESET synchronous_standby_names");
	world_sql(world, "SELECT pg_reload_conf()");
	world_sql(world, "RESET synchronous_commit");
	CHECK(proc_await_ready(p, 10000));
	CHECK_INT(deliver(proc_url(p), "evt_sync", "sub_sync", &body), 200);
	CHECK_STR(body, "{\"outcome\":\"duplicate\"}");
	free(body);
	stop(p);
}

static PGconn *lock(const char *subscription)
{
	PGconn *locker = world_pg(world);
	char *sql = text_format("BEGIN; SELECT 1 FROM intake.purchase"
				" WHERE store_purchase_id = '%s' FOR UPDATE",
	    subscription);

	PQclear(PQexec(locker, sql));
	free(sql);
	return locker;
}

static void unlock(PGconn *locker)
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

	return deliver_queued(q->producer) == q->n;
}

static bool await_queued(struct proc *p, int64_t n)
{
	struct queued_in q = {p, n};

	return await(is_queued, &q, 10000);
}

static const char *const one_connection[] = {
    "--threads", "1", "--database-connections", "1", "--request-timeout", "5s", NULL};

/* While one batch waits for a lock the next one fills up; it contains what the database refuses. */
static void a_batch_is_split_until_the_culprit_is_alone(void)
{
	enum { NEIGHBOURS = 12 };
	struct proc *p = start(one_connection);
	struct delivery first, rest[NEIGHBOURS + 1];
	PGconn *locker;

	CHECK_INT(deliver(proc_url(p), "evt_split", "sub_split", NULL), 200);
	world_sql(world, "ALTER TABLE intake.purchase ADD CONSTRAINT no_culprit"
			 " CHECK (store_purchase_id <> 'sub_culprit')");
	locker = lock("sub_split");
	delivery_start(&first, proc_url(p), "evt_split_first", "sub_split");
	CHECK(deliver_await_lock_waits(world, 1));
	for (int i = 0; i <= NEIGHBOURS; i++) {
		char id[32];
		snprintf(id, sizeof(id), "evt_split_%d", i);
		delivery_start(&rest[i], proc_url(p), id, i == 5 ? "sub_culprit" : id);
	}
	CHECK(await_queued(p, NEIGHBOURS + 1));
	unlock(locker);
	delivery_join(&first);
	CHECK_INT(first.status, 200);
	for (int i = 0; i <= NEIGHBOURS; i++) {
		delivery_join(&rest[i]);
		CHECK_INT(rest[i].status, i == 5 ? 503 : 200);
	}
	CHECK_INT(kept("^evt_split_5$"), 0);
	CHECK_INT(whole("^evt_split_[0-9]+$"), NEIGHBOURS);
	world_sql(world, "ALTER TABLE intake.purchase DROP CONSTRAINT no_culprit");
	stop(p);
}

static void a_locked_purchase_fails_no_neighbour(void)
{
	enum { NEIGHBOURS = 5 };
	struct proc *p = start(one_connection);
	struct delivery first, locked, rest[NEIGHBOURS];
	PGconn *locker, *other;

	CHECK_INT(deliver(proc_url(p), "evt_lock_a", "sub_lock_a", NULL), 200);
	CHECK_INT(deliver(proc_url(p), "evt_lock_b", "sub_lock_b", NULL), 200);
	locker = lock("sub_lock_a");
	other = lock("sub_lock_b");
	delivery_start(&first, proc_url(p), "evt_lock_a2", "sub_lock_a");
	CHECK(deliver_await_lock_waits(world, 1));
	delivery_start(&locked, proc_url(p), "evt_lock_b2", "sub_lock_b");
	for (int i = 0; i < NEIGHBOURS; i++) {
		char id[32];
		snprintf(id, sizeof(id), "evt_lock_%d", i);
		delivery_start(&rest[i], proc_url(p), id, id);
	}
	CHECK(await_queued(p, NEIGHBOURS + 1));
	unlock(locker);
	delivery_join(&first);
	CHECK_INT(first.status, 200);
	for (int i = 0; i < NEIGHBOURS; i++) {
		delivery_join(&rest[i]);
		CHECK_INT(rest[i].status, 200);
	}
	delivery_join(&locked);
	CHECK_INT(locked.status, 503);
	unlock(other);
	CHECK_INT(kept("^evt_lock_b2$"), 0);
	CHECK_INT(deliver(proc_url(p), "evt_lock_b2", "sub_lock_b", NULL), 200);
	stop(p);
}

static void a_full_queue_answers_at_once(void)
{
	static const char *const args[] = {"--threads", "1", "--database-connections", "1",
	    "--queue", "2", "--request-timeout", "10s", NULL};
	struct proc *p = start(args);
	struct delivery waiting[3];
	struct http_answer answer;
	char *url, *after, *event, *signature, *header;
	PGconn *locker;

	CHECK_INT(deliver(proc_url(p), "evt_full", "sub_full", NULL), 200);
	locker = lock("sub_full");
	delivery_start(&waiting[0], proc_url(p), "evt_full_0", "sub_full");
	CHECK(deliver_await_lock_waits(world, 1));
	delivery_start(&waiting[1], proc_url(p), "evt_full_1", "sub_full");
	delivery_start(&waiting[2], proc_url(p), "evt_full_2", "sub_full");
	CHECK(await_queued(p, 2));

	int64_t before = now_ms();
	event = deliver_event("evt_full_3", "sub_full");
	signature = sign_stripe(SIGNER_STRIPE_SECRET, time(NULL), event, strlen(event));
	header = text_format("Stripe-Signature: %s", signature);
	url = text_format("%s/webhooks/stripe", proc_url(p));
	http_request(
	    "POST", url, (const char *const[]){header, NULL}, event, strlen(event), 5000, &answer);
	CHECK_INT(answer.status, 503);
	CHECK(now_ms() - before < 1000);
	after = http_header(&answer, "Retry-After");
	CHECK(after && strtol(after, NULL, 10) > 0);
	unlock(locker);
	for (int i = 0; i < 3; i++) {
		delivery_join(&waiting[i]);
		CHECK_INT(waiting[i].status, 200);
	}
	CHECK_INT(kept("^evt_full_3$"), 0);
	free(after);
	http_answer_done(&answer);
	free(url);
	free(header);
	free(signature);
	free(event);
	stop(p);
}

/* Duplicates that wait together: the second learns its answer from the key, not from the first. */
static void a_queued_duplicate_waits_for_its_twin(void)
{
	struct proc *p = start(one_connection);
	struct delivery first, twins[4];
	PGconn *locker;

	CHECK_INT(deliver(proc_url(p), "evt_twin", "sub_twin", NULL), 200);
	locker = lock("sub_twin");
	delivery_start(&first, proc_url(p), "evt_twin_first", "sub_twin");
	CHECK(deliver_await_lock_waits(world, 1));
	for (int i = 0; i < 4; i++)
		delivery_start(&twins[i], proc_url(p), "evt_twin_x", "sub_twin_x");
	CHECK(await_queued(p, 4));
	unlock(locker);
	delivery_join(&first);
	for (int i = 0; i < 4; i++) {
		delivery_join(&twins[i]);
		CHECK_INT(twins[i].status, 200);
	}
	CHECK_INT(kept("^evt_twin_x$"), 3);
	stop(p);
}

static void outage_503_at_once_and_back_alone(void)
{
	struct proc *p = start(NULL);
	char *ready = text_format("%s/readyz", proc_admin_url(p)), *log;
	struct http_answer answer;
	int64_t before;

	CHECK_INT(deliver(proc_url(p), "evt_out", "sub_out", NULL), 200);
	world_pg_stop(world, "immediate");
	CHECK(proc_await_log(p, "the database is away", 10000));
	for (int i = 0; i < 10; i++) {
		before = now_ms();
		CHECK_INT(deliver(proc_url(p), "evt_out_1", "sub_out", NULL), 503);
		CHECK(now_ms() - before < 1000);
	}
	http_request("GET", ready, NULL, NULL, 0, 5000, &answer);
	CHECK_INT(answer.status, 503);
	http_answer_done(&answer);
	world_pg_start(world);
	CHECK(proc_await_ready(p, 20000));
	CHECK_INT(deliver(proc_url(p), "evt_out_1", "sub_out", NULL), 200);
	CHECK_INT(kept("^evt_out_1$"), 3);
	log = file_read(proc_log(p), NULL);
	const char *first = strstr(log, "the database is away");
	CHECK(first && !strstr(first + 1, "the database is away"));
	CHECK(strstr(first, "the database is back") != NULL);
	free(log);
	free(ready);
	stop(p);
}

/* The backend stands still: the outcome is unknown when the time is over, and nothing is cancelled.
 */
static void a_backend_that_hangs_is_left(void)
{
	static const char *const args[] = {
	    "--threads", "1", "--database-connections", "1", "--request-timeout", "2s", NULL};
	struct proc *p = start(args);
	struct delivery d;
	PGconn *locker;
	pid_t backend;
	char *body;

	CHECK_INT(deliver(proc_url(p), "evt_hang", "sub_hang", NULL), 200);
	locker = lock("sub_hang");
	delivery_start(&d, proc_url(p), "evt_hang_1", "sub_hang");
	CHECK(deliver_await_lock_waits(world, 1));
	backend = (pid_t)world_int(world,
	    "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
	    " AND application_name LIKE 'umavez-producer/%%'");
	kill(backend, SIGSTOP);
	unlock(locker);
	delivery_join(&d);
	CHECK_INT(d.status, 503);
	CHECK(d.ms >= 1900 && d.ms < 5000);
	/* Another connection serves; the one left behind still holds the notification's key. */
	CHECK(proc_await_ready(p, 10000));
	CHECK_INT(deliver(proc_url(p), "evt_hang_2", "sub_hang_2", NULL), 200);
	kill(backend, SIGCONT);
	/* It finishes what it was asked to, whether anybody listens or not. */
	CHECK(world_await_int(
	    world, 0, 10000, "SELECT count(*) FROM pg_stat_activity WHERE pid = %d", (int)backend));
	CHECK_INT(deliver(proc_url(p), "evt_hang_1", "sub_hang", &body), 200);
	CHECK_INT(whole("^evt_hang_1$"), 1);
	free(body);
	stop(p);
}

struct crowd {
	const char *url;
	int first, step, n, failures;
	pthread_t thread;
};

enum { CROWD_IDS = 1000, CROWD_PURCHASES = 25 };

static void *post_crowd(void *arg)
{
	struct crowd *c = arg;
	int at = c->first;

	for (int i = 0; i < c->n; i++, at = (at + c->step + CROWD_IDS) % CROWD_IDS) {
		char id[32], subscription[32];
		int status = 0;

		snprintf(id, sizeof(id), "evt_crowd_%d", at);
		snprintf(subscription, sizeof(subscription), "sub_crowd_%d", at % CROWD_PURCHASES);
		for (int attempt = 0; attempt < 5 && status != 200; attempt++)
			status = deliver(c->url, id, subscription, NULL);
		c->failures += status != 200;
	}
	return NULL;
}

/* Two producers get the same notifications in opposite orders, many at a time. */
static void b42_two_producers_do_not_deadlock(void)
{
	enum { CLIENTS = 12 };
	struct proc *p[2] = {start(NULL), start(NULL)};
	struct crowd crowd[CLIENTS];
	int64_t deadlocks = world_int(world, "SELECT sum(deadlocks)::bigint FROM pg_stat_database");

	for (int i = 0; i < CLIENTS; i++) {
		int part = CROWD_IDS * (i / 2) / (CLIENTS / 2);
		crowd[i] = (struct crowd){.url = proc_url(p[i % 2]),
		    .first = i % 2 ? CROWD_IDS - 1 - part : part,
		    .step = i % 2 ? -1 : 1,
		    .n = CROWD_IDS / (CLIENTS / 2) + 1};
		CHECK(pthread_create(&crowd[i].thread, NULL, post_crowd, &crowd[i]) == 0);
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(crowd[i].thread, NULL);
		CHECK_INT(crowd[i].failures, 0);
	}
	CHECK_INT(whole("^evt_crowd_"), CROWD_IDS);
	CHECK_INT(world_int(world, "SELECT sum(version)::bigint FROM intake.purchase"
				   " WHERE store_purchase_id ~ '^sub_crowd_'") >= CROWD_PURCHASES,
	    1);
	CHECK_INT(
	    world_int(world, "SELECT sum(deadlocks)::bigint FROM pg_stat_database"), deadlocks);
	stop(p[0]);
	stop(p[1]);
}

/* Wait for one notification on the channel; false: none within ms. */
static bool woken(PGconn *listener, int ms)
{
	int64_t until = now_ms() + ms;
	PGnotify *notify;

	while (!(notify = PQnotifies(listener))) {
		struct pollfd p = {PQsocket(listener), POLLIN, 0};
		int64_t left = until - now_ms();
		if (left <= 0 || poll(&p, 1, (int)left) <= 0 || !PQconsumeInput(listener))
			return false;
	}
	PQfreemem(notify);
	return true;
}

static void relays_are_woken(void)
{
	struct proc *p = start(NULL);
	PGconn *listener = world_pg(world);
	int wakeups = 0, tries = 0;
	int64_t started;

	PQclear(PQexec(listener, "LISTEN umavez_outbox"));
	/* Readiness does not wait for the connection that wakes: the first ones may go unheard. */
	do {
		char id[32];
		snprintf(id, sizeof(id), "evt_wake_try_%d", tries);
		CHECK_INT(deliver(proc_url(p), id, id, NULL), 200);
	} while (!woken(listener, 200) && ++tries < 20);
	CHECK(tries < 20);
	/* A duplicate is no news. */
	CHECK_INT(deliver(proc_url(p), "evt_wake_try_0", "evt_wake_try_0", NULL), 200);
	CHECK(!woken(listener, 300));
	started = now_ms();
	for (int i = 0; i < 200; i++) {
		char id[32];
		snprintf(id, sizeof(id), "evt_wake_%d", i);
		CHECK_INT(deliver(proc_url(p), id, id, NULL), 200);
	}
	while (woken(listener, 300))
		wakeups++;
	CHECK(wakeups >= 1 && wakeups <= (now_ms() - started) / 5 + 1);
	PQfinish(listener);
	stop(p);
}

static void b60_a_trusted_traceparent_is_the_parent(void)
{
	static const char *const args[] = {"--trust-traceparent", NULL};
	struct proc *p = start(args);
	char *request = deliver_request("evt_trusted", "sub_trusted",
	    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"
	    "Connection: close\r\n");

	free(http_raw(proc_url(p), request, strlen(request), 10000, NULL));
	CHECK_INT(
	    world_int(world,
		"SELECT count(*) FROM intake.notification JOIN intake.outbox"
		" USING (traceparent) WHERE notification_id = 'evt_trusted' AND trace_link IS NULL"
		" AND traceparent LIKE '00-4bf92f3577b34da6a3ce929d0e0e4736-%%-01'"
		" AND traceparent NOT LIKE '%%00f067aa0ba902b7%%'"),
	    1);
	free(request);
	stop(p);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B21 fifty identical posts of each store", b21_fifty_identical_posts_of_each_store},
	    {"two producers at once", two_producers_at_once},
	    {"B17 the exact bytes are kept", b17_the_exact_bytes_are_kept},
	    {"B22 a refusal keeps nothing", b22_a_refusal_keeps_nothing},
	    {"P4 rows are no commit", p4_rows_are_no_commit},
	    {"P4 a warning is no commit", p4_a_warning_is_no_commit},
	    {"a batch is split until the culprit is alone",
		a_batch_is_split_until_the_culprit_is_alone},
	    {"a locked purchase fails no neighbour", a_locked_purchase_fails_no_neighbour},
	    {"a full queue answers at once", a_full_queue_answers_at_once},
	    {"a queued duplicate waits for its twin", a_queued_duplicate_waits_for_its_twin},
	    {"outage: 503 at once, and back alone", outage_503_at_once_and_back_alone},
	    {"a backend that hangs is left", a_backend_that_hangs_is_left},
	    {"B42 two producers do not deadlock", b42_two_producers_do_not_deadlock},
	    {"relays are woken", relays_are_woken},
	    {"B60 a trusted traceparent is the parent", b60_a_trusted_traceparent_is_the_parent},
	    {NULL, NULL},
	};
	int status;

	world = world_open(2);
	status = check_main("producer intake", checks, argc, argv);
	world_close(world);
	return status;
}
