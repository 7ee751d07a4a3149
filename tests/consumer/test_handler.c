/* Handlers: the default one, a user's own, and what the process says of its work. */
#include "tests/consumer/stage.h"

#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#define TICK INT64_C(1767225600000)

static void a_missing_grant_is_waited_for(void)
{
	static const char *const args[] = {
	    "--max-attempts", "100000", "--retry-min", "20ms", "--retry-max", "50ms", NULL};
	struct stage *s = stage_open(1);
	struct proc *p;

	world_sql(s->w, "REVOKE INSERT ON stage.log FROM umavez_consumer");
	stage_add_many(s, TICK, 1, 10);
	p = stage_consumer(s, args, NULL);
	CHECK(proc_await_log(p, "sqlstate=42501", STAGE_MS));
	world_sql(s->w, "GRANT INSERT ON stage.log TO umavez_consumer");
	CHECK(stage_await_effects(s, 10));
	stage_check_by_subject(s, 10);
	stage_close(s);
}

/* A lock that somebody else holds is no failure of the message. */
static void a_lock_is_waited_for(void)
{
	static const char *const args[] = {"--lease", "300ms", NULL};
	struct stage *s = stage_open(1);
	PGconn *other = world_pg(s->w);
	struct proc *p;

	PQclear(PQexec(other, "BEGIN; LOCK stage.log IN EXCLUSIVE MODE"));
	stage_add_many(s, TICK, 1, 10);
	p = stage_consumer(s, args, NULL);
	CHECK(proc_await_log(p, "sqlstate=55P03", STAGE_MS));
	PQfinish(other);
	CHECK(stage_await_effects(s, 10));
	stage_check_effects(s, 10);
	stage_close(s);
}

static void a_name_in_mixed_case(void)
{
	static const char *const args[] = {"--handler", "\"Stage Two\".\"Apply\"", NULL};
	struct stage *s = stage_open(1);

	stage_add_many(s, TICK, 1, 10);
	stage_consumer(s, args, NULL);
	CHECK(stage_await_effects(s, 10));
	stage_check_effects(s, 10);
	stage_close(s);
}

static void expect_usage(struct stage *s, const char *option, const char *value, const char *text)
{
	char *err = NULL;
	const char *const args[] = {"--database-url", world_consumer_url(s->w), "--admin-listen",
	    "127.0.0.1:0", option, value, NULL};

	CHECK_INT(world_run_all(s->w, "umavez-consumer", args, NULL, NULL, &err), 2);
	if (!strstr(err, text))
		fprintf(stderr, "%s", err);
	CHECK(strstr(err, text) != NULL);
	free(err);
}

static void bad_options_end_the_process(void)
{
	struct stage *s = stage_open(1);

	world_sql(s->w, "CREATE PROCEDURE stage.proc(event json) LANGUAGE sql AS 'SELECT 1'");
	expect_usage(s, "--handler", "stage.nothing", "stage.nothing(json)");
	expect_usage(s, "--handler", "stage two", "stage two(json)");
	expect_usage(s, "--handler", "stage.apply(json)", "stage.apply(json)(json)");
	expect_usage(s, "--handler", "stage.proc", "stage.proc(json)");
	expect_usage(s, "--handler", "nowhere.apply", "nowhere.apply(json)");
	expect_usage(s, "--handler", "no.where.apply", "no.where.apply(json) (give its name ");
	world_sql(s->w, "REVOKE USAGE ON SCHEMA \"Stage Two\" FROM umavez_consumer");
	expect_usage(s, "--handler", "\"Stage Two\".\"Apply\"",
	    "permission denied for schema Stage Two: "
	    "GRANT USAGE ON SCHEMA \\\"Stage Two\\\" TO umavez_consumer");
	expect_usage(s, "--consumer", "a b", "--consumer");
	expect_usage(s, "--namespace", "{x}", "--namespace");
	expect_usage(s, "--database-url", "nonsense", "--database-url: not");
	expect_usage(s, "--batch", "0", "--batch");
	expect_usage(s, "--retry-min", "2min", "--retry-min");
	expect_usage(s, "--max-attempts", "0", "--max-attempts");
	expect_usage(s, "--redis-url", "http://x", "--redis-url: bad scheme");
	stage_close(s);
}

static void another_schema_is_refused(void)
{
	struct stage *s = stage_open(1);
	const char *const args[] = {
	    "--database-url", world_consumer_url(s->w), "--admin-listen", "127.0.0.1:0", NULL};

	world_sql(s->w, "INSERT INTO effects.migration SELECT 999, 'x', 'y', now()");
	CHECK_INT(world_run_all(s->w, "umavez-consumer", args, NULL, NULL, NULL), 3);
	stage_close(s);
}

static void metrics_tell(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);

	stage_add_many(s, TICK, 1, 10);
	stage_add(s, 0, TICK + 1, 3);
	stage_redis(s, "XADD " STAGE_STREAM " %lld-1 a b", (long long)TICK + 2);
	CHECK(stage_await_cursor(s, "1767225600001-3"));
	CHECK(stage_await_bookmark(s, "1767225600001-3"));
	CHECK(stage_says(p, "/metrics",
	    "umavez_messages_total{consumer=\"entitlements\",outcome=\"applied\"} 10\n"));
	CHECK(stage_says(p, "/metrics",
	    "umavez_messages_total{consumer=\"entitlements\",outcome=\"duplicate\"} 1\n"));
	CHECK(stage_await_says(p, "/metrics",
	    "umavez_messages_total{consumer=\"entitlements\",outcome=\"malformed\"} 1\n"));
	CHECK(stage_says(p, "/metrics", "umavez_leases_held 1\n"));
	CHECK(stage_await_says(p, "/metrics", "umavez_lag_entries{shard=\"0\"} 0\n"));
	CHECK(stage_says(p, "/metrics", "umavez_build_info{"));
	CHECK(stage_says(p, "/metrics", "umavez_end_to_end_seconds_count"));
	CHECK(stage_says(p, "/metrics", "umavez_apply_seconds_count"));
	stage_close(s);
}

/* While a shard waits, both our metric and XINFO GROUPS tell how many entries are left. */
static void lag_is_shown(void)
{
	static const char *const args[] = {
	    "--batch", "1", "--retry-min", "20ms", "--retry-max", "50ms", NULL};
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, args, NULL);
	PGconn *other = world_pg(s->w);
	redisReply *groups;
	bool found = false;

	stage_add_many(s, TICK, 1, 10);
	CHECK(stage_await_bookmark(s, "1767225600000-10"));
	/* Message 13 has to wait for the other's row of the same key. */
	world_sql(s->w, "CREATE UNIQUE INDEX ON stage.log (n)");
	PQclear(PQexec(other, "BEGIN; INSERT INTO stage.log (shard, n, message_id, stream_id)"
			      " VALUES (0, 13, '', '')"));
	stage_add_many(s, TICK + 1, 11, 20);
	CHECK(stage_await_bookmark(s, "1767225600001-12"));
	groups = redisCommand(s->redis, "XINFO GROUPS " STAGE_STREAM);
	for (size_t i = 0; i + 1 < groups->element[0]->elements; i += 2)
		if (strcmp(groups->element[0]->element[i]->str, "lag") == 0) {
			found = true;
			CHECK_INT(groups->element[0]->element[i + 1]->integer, 8);
		}
	freeReplyObject(groups);
	CHECK(found);
	CHECK(stage_await_says(p, "/metrics", "umavez_lag_entries{shard=\"0\"} 8\n"));
	PQfinish(other);
	CHECK(stage_await_effects(s, 20));
	stage_close(s);
}

static void add_event_of(
    struct stage *s, int seq, const char *source, const char *id, const char *data)
{
	stage_redis(s,
	    "XADD " STAGE_STREAM " %lld-%d id %s source %s type purchase.renewed subject stripe/sub"
	    " time 2026-01-01T00:00:00Z data %s",
	    (long long)TICK, seq, id, source, data);
}

static void add_purchase_event(struct stage *s, int seq, const char *id, const char *data)
{
	add_event_of(s, seq, "stripe", id, data);
}

/* Inbox, entitlement and ledger in one transaction; a second event about one payment adds nothing
 * to the ledger, an older one nothing to the entitlement, and one without a purchase leaves its
 * inbox row alone. */
static void the_default_handler(void)
{
	static const char *const args[] = {
	    "--handler", "effects.apply_purchase", "--batch", "1", NULL};
	static const char data[] =
	    "{\"store\":\"stripe\",\"kind\":\"renewed\",\"transaction_id\":\"in_1\",\"amount_"
	    "minor\":%d,"
	    "\"purchase\":{\"store\":\"stripe\",\"store_purchase_id\":\"sub\",\"state\":\"active\","
	    "\"account_ref\":%s,\"occurred_at\":\"2026-01-01T00:00:%02dZ\",\"rank\":3,"
	    "\"last_notification_id\":\"e\",\"version\":1}}";
	struct stage *s = stage_open(1);
	char *first = text_format(data, 500, "\"alice\"", 10);
	char *newer = text_format(data, 600, "null", 20);
	char *older = text_format(data, 700, "\"bob\"", 5);

	stage_consumer(s, args, NULL);
	add_purchase_event(s, 1, "e1", first);
	add_purchase_event(s, 2, "e2", newer);
	add_purchase_event(s, 3, "e3", older);
	add_purchase_event(s, 4, "e4", "{\"kind\":\"test\",\"purchase\":null}");
	add_purchase_event(s, 5, "e1", first);
	CHECK(stage_await_cursor(s, "1767225600000-5"));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.inbox"), 4);
	CHECK_INT(
	    world_int(s->w, "SELECT count(*) FROM effects.entitlement AS e JOIN effects.inbox AS i"
			    " USING (xid) WHERE i.message_id = 'e2' AND e.account_ref = 'alice'"
			    " AND e.occurred_at = '2026-01-01 00:00:20Z'"),
	    1);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.entitlement"), 1);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.ledger AS l JOIN effects.inbox AS i"
				  " USING (source, message_id, xid) WHERE message_id = 'e1'"
				  " AND l.amount_minor = 500"),
	    1);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.ledger"), 1);
	free(first);
	free(newer);
	free(older);
	stage_close(s);
}

/* What an application publishes about a store's purchase or payment is not the store's word. */
static void another_source_entitles_to_nothing(void)
{
	static const char *const args[] = {"--handler", "effects.apply_purchase", NULL};
	static const char told[] =
	    "{\"store\":\"%s\",\"kind\":\"renewed\",\"transaction_id\":\"in_1\","
	    "\"purchase\":{\"store\":\"%s\",\"store_purchase_id\":\"sub\",\"state\":\"active\","
	    "\"occurred_at\":\"2026-01-01T00:00:00Z\",\"rank\":3,"
	    "\"last_notification_id\":\"e\",\"version\":1}}";
	struct stage *s = stage_open(1);
	char *of_stripe = text_format(told, "stripe", "stripe");
	char *of_billing = text_format(told, "billing", "stripe");
	char *of_both = text_format(told, "stripe", "billing");

	stage_consumer(s, args, NULL);
	add_event_of(s, 1, "billing", "e1", of_stripe);
	add_event_of(s, 2, "billing", "e2", of_billing);
	add_event_of(s, 3, "billing", "e3", of_both);
	CHECK(stage_await_cursor(s, "1767225600000-3"));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.inbox"), 3);
	CHECK_INT(world_int(s->w, "SELECT (SELECT count(*) FROM effects.entitlement)"
				  " + (SELECT count(*) FROM effects.ledger)"),
	    0);
	add_event_of(s, 4, "stripe", "e4", of_stripe);
	CHECK(stage_await_cursor(s, "1767225600000-4"));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.entitlement, effects.ledger"
				  " WHERE message_id = 'e4'"),
	    1);
	free(of_stripe);
	free(of_billing);
	free(of_both);
	stage_close(s);
}

static const struct check checks[] = {
    {"the default handler", the_default_handler},
    {"another source entitles to nothing", another_source_entitles_to_nothing},
    {"a missing grant is waited for", a_missing_grant_is_waited_for},
    {"a lock is waited for", a_lock_is_waited_for},
    {"a name in mixed case", a_name_in_mixed_case},
    {"bad options end the process", bad_options_end_the_process},
    {"another schema is refused", another_schema_is_refused},
    {"metrics tell", metrics_tell},
    {"lag is shown", lag_is_shown},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer handler", checks, argc, argv);
}
