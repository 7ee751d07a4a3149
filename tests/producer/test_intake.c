#include "tests/producer/deliver.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/http.h"
#include "tests/support/pause.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct world *world;

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
	struct proc *p = stage_producer(world, NULL);
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
	CHECK_INT(stage_whole(world, ""), 3);
	CHECK_INT(deliver(proc_url(p), "evt_b21", "sub_b21", NULL), 200);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 3);
	free(url);
	free(header);
	free(body);
	free(rtdn);
	free(token);
	free(signature);
	free(event);
	stage_end(p);
}

static void two_producers_at_once(void)
{
	enum { EVENTS = 200 };
	struct proc *a = stage_producer(world, NULL), *b = stage_producer(world, NULL);

	for (int i = 0; i < EVENTS; i++) {
		static struct delivery one, other;
		char id[32];

		snprintf(id, sizeof(id), "evt_pair_%d", i);
		delivery_start(&one, proc_url(a), id, id);
		delivery_start(&other, proc_url(b), id, id);
		delivery_join(&one);
		delivery_join(&other);
		CHECK_INT(one.status, 200);
		CHECK_INT(other.status, 200);
	}
	CHECK_INT(stage_whole(world, "^evt_pair_"), EVENTS);
	CHECK_INT(stage_rows(world, "^evt_pair_"), INT64_C(3) * EVENTS);
	stage_end(a);
	stage_end(b);
}

static void b17_the_exact_bytes_are_kept(void)
{
	static const char body[] = "{ \"id\":\"evt_b17\",\r\n \"t\":\"caf\\u00e9 \\/ \xc3\xa9\"}\n";
	struct proc *p = stage_producer(world, NULL);
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
	stage_end(p);
}

static void b22_a_refusal_keeps_nothing(void)
{
	struct proc *p = stage_producer(world, NULL);

	world_sql(world, "CREATE FUNCTION no_b22() RETURNS trigger LANGUAGE plpgsql AS"
			 " $$BEGIN RAISE EXCEPTION 'not this one'; END$$");
	world_sql(world, "CREATE TRIGGER no_b22 BEFORE INSERT ON intake.purchase FOR EACH ROW"
			 " WHEN (NEW.store_purchase_id = 'sub_b22') EXECUTE FUNCTION no_b22()");
	CHECK_INT(deliver(proc_url(p), "evt_b22", "sub_b22", NULL), 503);
	CHECK_INT(stage_rows(world, "^evt_b22$"), 0);
	CHECK(proc_await_log(p, "notification_id=evt_b22", 5000));
	world_sql(world, "DROP TRIGGER no_b22 ON intake.purchase");
	CHECK_INT(deliver(proc_url(p), "evt_b22", "sub_b22", NULL), 200);
	CHECK_INT(stage_rows(world, "^evt_b22$"), 3);
	world_sql(world, "DROP FUNCTION no_b22");
	stage_end(p);
}

/* In the extended protocol the rows arrive before the commit, which then fails. */
static void p4_rows_are_no_commit(void)
{
	struct proc *p = stage_producer(world, NULL);

	world_sql(world, "CREATE FUNCTION no_p4() RETURNS trigger LANGUAGE plpgsql AS"
			 " $$BEGIN RAISE EXCEPTION 'at commit'; END$$");
	world_sql(world, "CREATE CONSTRAINT TRIGGER no_p4 AFTER INSERT ON intake.notification"
			 " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
			 " WHEN (NEW.notification_id = 'evt_p4') EXECUTE FUNCTION no_p4()");
	CHECK_INT(deliver(proc_url(p), "evt_p4", "sub_p4", NULL), 503);
	CHECK_INT(stage_rows(world, "^evt_p4$"), 0);
	CHECK_INT(deliver(proc_url(p), "evt_p4_other", "sub_p4", NULL), 200);
	world_sql(world, "DROP TRIGGER no_p4 ON intake.notification");
	world_sql(world, "DROP FUNCTION no_p4");
	CHECK_INT(deliver(proc_url(p), "evt_p4", "sub_p4", NULL), 200);
	CHECK_INT(stage_whole(world, "^evt_p4"), 2);
	stage_end(p);
}

/* Committed here, and no standby has confirmed it: nobody may be told that it is durable. */
static void p4_a_warning_is_no_commit(void)
{
	struct proc *p = stage_producer(world, NULL);
	static struct delivery d;
	char *body;

	world_sql(world, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
	world_sql(world, "SELECT pg_reload_conf()");
	CHECK(world_await_int(
	    world, 1, 5000, "SELECT (current_setting('synchronous_standby_names') <> '')::int"));
	world_sql(world, "CHECKPOINT"); /* it is the checkpointer that has commits wait */
	delivery_start(&d, proc_url(p), "evt_sync", "sub_sync");
	CHECK(world_await_int(world, 1, 5000,
	    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	    " AND application_name LIKE 'umavez-producer/%%' AND query ~ 'receive'"));
	world_sql(world,
	    "SET synchronous_commit = local; SELECT pg_cancel_backend(pid)"
	    " FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query ~ 'receive'");
	delivery_join(&d);
	CHECK_INT(d.status, 503);
	/* The retry finds it committed, and waits for the standby all the same. */
	delivery_start(&d, proc_url(p), "evt_sync", "sub_sync");
	CHECK(world_await_int(world, 1, 5000,
	    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	    " AND application_name LIKE 'umavez-producer/%%' AND query ~ 'receive'"));
	world_sql(world, "ALTER SYSTEM RESET synchronous_standby_names");
	world_sql(world, "SELECT pg_reload_conf()");
	delivery_join(&d);
	CHECK_INT(d.status, 200);
	world_sql(world, "RESET synchronous_commit");
	CHECK(proc_await_ready(p, 10000));
	CHECK_INT(deliver(proc_url(p), "evt_sync", "sub_sync", &body), 200);
	CHECK_STR(body, "{\"outcome\":\"duplicate\"}");
	free(body);
	stage_end(p);
}

/* Wait for one notification on the channel; false: none within ms. *ret_where may be NULL. */
static bool woken_where(PGconn *listener, int ms, int64_t *ret_where)
{
	int64_t until = now_ms() + ms;
	PGnotify *notify;

	while (!(notify = PQnotifies(listener))) {
		struct pollfd p = {PQsocket(listener), POLLIN, 0};
		int64_t left = until - now_ms();
		if (left <= 0 || poll(&p, 1, (int)left) <= 0 || !PQconsumeInput(listener))
			return false;
	}
	if (ret_where)
		*ret_where = strtoll(notify->extra, NULL, 16);
	PQfreemem(notify);
	return true;
}

static bool woken(PGconn *listener, int ms)
{
	return woken_where(listener, ms, NULL);
}

static void relays_are_woken(void)
{
	enum { POSTS = 400, AT_ONCE = 8 };
	static struct delivery d[AT_ONCE];
	struct proc *p = stage_producer(world, NULL);
	PGconn *listener = world_pg(world);
	int wakeups = 0, tries = 0;
	int64_t started, took, where;

	PQclear(PQexec(listener, "LISTEN umavez_outbox"));
	/* Readiness does not wait for the connection that wakes: the first ones may go unheard. */
	do {
		char id[32];
		snprintf(id, sizeof(id), "evt_wake_try_%d", tries);
		CHECK_INT(deliver(proc_url(p), id, id, NULL), 200);
	} while (!woken_where(listener, 200, &where) && ++tries < 20);
	CHECK(tries < 20);
	CHECK_INT(where, world_int(world,
			     "SELECT 1::bigint << shard FROM intake.outbox"
			     " WHERE message_id = 'evt_wake_try_%d'",
			     tries));
	/* A duplicate is no news. */
	CHECK_INT(deliver(proc_url(p), "evt_wake_try_0", "evt_wake_try_0", NULL), 200);
	CHECK(!woken(listener, 300));
	started = now_ms();
	for (int i = 0; i < POSTS; i++) {
		char id[32];
		snprintf(id, sizeof(id), "evt_wake_%d", i);
		if (i >= AT_ONCE)
			delivery_join(&d[i % AT_ONCE]);
		delivery_start(&d[i % AT_ONCE], proc_url(p), id, id);
	}
	for (int i = 0; i < AT_ONCE; i++)
		delivery_join(&d[i]);
	took = now_ms() - started;
	while (woken(listener, 300))
		wakeups++;
	CHECK(wakeups >= 1 && wakeups <= took / 2 + 2);
	PQfinish(listener);
	stage_end(p);
}

static void b60_a_trusted_traceparent_is_the_parent(void)
{
	static const char *const args[] = {"--trust-traceparent", NULL};
	struct proc *p = stage_producer(world, args);
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
	stage_end(p);
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
