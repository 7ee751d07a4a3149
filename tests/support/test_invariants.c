/*
 * Every invariant is seen holding and broken: a small history is written by hand, and then spoilt
 * in one way after another, each in a transaction that is rolled back.
 */
#include "tests/support/check.h"
#include "tests/support/invariants.h"

#include <stdlib.h>
#include <string.h>

#define TICK "1700000000000"

/* Two purchases, one of them with a late notification; one notification without a purchase. */
static const char receive[] =
    "SELECT intake.receive(ARRAY[store], ARRAY[id], ARRAY[kind], ARRAY[kind], "
    "ARRAY[rank]::smallint[],"
    " ARRAY[purchase], ARRAY[at], ARRAY[now()],"
    " ARRAY['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'], ARRAY[NULL],"
    " ARRAY['monthly'], ARRAY['account'], ARRAY[state], ARRAY[false], ARRAY[true],"
    " ARRAY[NULL::timestamptz], ARRAY[id], ARRAY[100::bigint], ARRAY['EUR'], ARRAY[1::bigint],"
    " ARRAY[false], ARRAY[NULL], ARRAY['body'::bytea])"
    " FROM (VALUES ('stripe', 'n1', 'started', 2, 'p1', '2026-01-01'::timestamptz, 'active'),"
    " ('stripe', 'n3', 'expired', 7, 'p1', '2026-01-03', 'expired'),"
    " ('stripe', 'n2', 'renewed', 3, 'p1', '2026-01-02', 'active'),"
    " ('app_store', 'n1', 'started', 2, 'p1', '2026-01-01', 'active'),"
    " ('app_store', 'n4', 'test', 0, NULL, '2026-01-01', NULL))"
    " AS v(store, id, kind, rank, purchase, at, state)";

static const char tick[] = "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
			   " SELECT shard, max(tick), " TICK " + max(tick), pg_current_snapshot()"
			   " FROM intake.tick GROUP BY shard";

/* What the relay would append, as rows of witness.entry. */
static const char publish[] =
    "INSERT INTO witness.entry SELECT o.shard, row_number() OVER (ORDER BY id), t.tick, id, source,"
    " message_id, type, subject, time::text, traceparent, data::text"
    " FROM intake.outbox AS o JOIN (SELECT shard, max(tick) AS tick FROM intake.tick GROUP BY "
    "shard)"
    " AS t USING (shard)";

static const char apply[] =
    "INSERT INTO effects.cursor (consumer, shard)"
    " SELECT 'entitlements', shard FROM intake.tick GROUP BY shard ON CONFLICT DO NOTHING;"
    "DO $$ DECLARE e witness.entry; BEGIN"
    " FOR e IN SELECT * FROM witness.entry ORDER BY place LOOP"
    "  PERFORM effects.apply_batch('entitlements', 'test', e.shard, c.stream_id,"
    "   e.tick || '-' || e.id, 'witness.apply(json)'::regprocedure, ARRAY[e.tick || '-' || e.id],"
    "   ARRAY[e.tick || '-' || e.id], ARRAY[e.source], ARRAY[e.message_id], ARRAY[e.subject], "
    "ARRAY[e.traceparent],"
    "   ARRAY[now()], now(), ARRAY[json_build_object('id', e.message_id, 'source', e.source,"
    "   'subject', e.subject, 'data', e.data::json)::text])"
    "  FROM effects.cursor AS c WHERE c.consumer = 'entitlements' AND c.shard = e.shard;"
    " END LOOP; END $$";

static const char answered[] =
    "INSERT INTO witness.answered SELECT store, notification_id, 2, 1, 1 FROM intake.notification";

static struct world *open_with_history(void)
{
	struct world *w = world_open(2);

	witness_install(w);
	world_sql(w, "%s", receive);
	world_sql(w, "%s", tick);
	world_sql(w, "%s", publish);
	world_sql(w, "%s", apply);
	world_sql(w, "%s", answered);
	return w;
}

/* Which view must show it, and what spoils it. */
static const struct {
	const char *view, *spoil;
} spoilers[] = {
    {"intake_lost", "DELETE FROM intake.notification WHERE notification_id = 'n2'"},
    {"intake_outcomes", "UPDATE witness.answered SET accepted = 2 WHERE notification_id = 'n2'"},
    {"intake_outcomes",
	"UPDATE witness.answered SET accepted = 0, duplicates = 2 WHERE notification_id = 'n2'"},
    {"intake_told", "DELETE FROM intake.outbox WHERE message_id = 'n4'"},
    {"intake_told", "UPDATE intake.outbox SET xid = '3' WHERE message_id = 'n4'"},
    {"intake_told", "UPDATE intake.outbox SET message_id = 'n1' WHERE message_id = 'n2'"},
    {"intake_invented", "DELETE FROM intake.notification WHERE notification_id = 'n2'"},
    {"intake_purchase", "UPDATE intake.purchase SET xid = '3' WHERE store = 'app_store'"},
    {"intake_purchase", "DELETE FROM intake.purchase WHERE store = 'app_store'"},
    {"intake_fold", "UPDATE intake.purchase SET state = 'grace' WHERE store = 'app_store'"},
    {"stream_missing", "DELETE FROM witness.entry WHERE source = 'stripe' AND message_id = 'n1'"},
    {"stream_repeated",
	"INSERT INTO witness.entry SELECT shard, place + 100, tick + 1, id FROM witness.entry"},
    {"stream_content", "UPDATE witness.entry SET source = 'app_store' WHERE source = 'stripe'"},
    {"stream_content", "UPDATE witness.entry SET data = '{}' WHERE message_id = 'n2'"},
    {"stream_content", "UPDATE witness.entry SET id = id + 100"},
    {"stream_tick", "UPDATE witness.entry SET tick = tick + 1"},
    {"stream_tick", "UPDATE intake.tick SET snapshot = '1:1:' WHERE previous_tick > 0"},
    {"stream_order", "UPDATE witness.entry SET place = -place"},
    {"stream_subject", "UPDATE witness.entry SET place = -place"},
    {"effects_lost", "DELETE FROM effects.inbox WHERE message_id = 'n4'"},
    {"effects_lost", "DELETE FROM effects.inbox; DELETE FROM effects.cursor"},
    {"effects_place", "UPDATE effects.inbox SET stream_id = '1-0' WHERE message_id = 'n4'"},
    {"effects_place", "DELETE FROM intake.outbox WHERE message_id = 'n4'"},
    {"effects_trace", "UPDATE effects.inbox SET traceparent = NULL WHERE message_id = 'n4'"},
    {"effects_order", "UPDATE effects.inbox SET xid = '3', processed_at = '2000-01-01' "
		      "WHERE message_id = 'n2'"},
    {"effects_doubled",
	"INSERT INTO witness.effect (source, message_id, subject) VALUES ('stripe', 'n1', 's')"},
    {"effects_witnessed", "DELETE FROM witness.effect WHERE message_id = 'n4'"},
    {"effects_witnessed", "UPDATE effects.inbox SET xid = '3' WHERE message_id = 'n4'"},
    {"effects_sequence", "ALTER TABLE witness.effect ALTER n DROP IDENTITY;"
			 "UPDATE witness.effect SET n = -n"},
    {"effects_entitlement", "UPDATE effects.entitlement SET state = 'grace'"},
    {"effects_entitlement", "DELETE FROM effects.entitlement"},
    {"effects_entitlement_xid", "UPDATE effects.entitlement SET xid = '3'"},
    {"effects_ledger", "UPDATE effects.ledger SET xid = '3' WHERE message_id = 'n2'"},
    {"effects_ledger", "DELETE FROM effects.ledger WHERE message_id = 'n2'"},
    {"effects_ledger",
	"ALTER TABLE effects.ledger"
	" DROP CONSTRAINT ledger_store_transaction_id_kind_key;"
	"INSERT INTO effects.ledger (store, transaction_id, kind, source, message_id)"
	" SELECT store, transaction_id, kind, source, message_id FROM effects.ledger"},
    {"effects_cursor", "UPDATE effects.cursor SET stream_id = '0-0'"},
    {"stream_gap", "UPDATE intake.outbox SET xid = '9223372036854775807' WHERE source = 'stripe';"
		   "DELETE FROM witness.entry WHERE message_id IN ('n2', 'n3')"},
    {NULL, NULL},
};

static void an_unspoilt_history_holds(void)
{
	struct world *w = open_with_history();

	CHECK(invariants_await(w, 0));
	CHECK_INT(invariants_broken(w, INVARIANTS_INTAKE | INVARIANTS_EFFECTS), 0);
	CHECK_INT(world_int(w, "SELECT count(*) FROM witness.stream_missing"), 0);
	world_close(w);
}

static void every_invariant_shows_what_breaks_it(void)
{
	struct world *w = open_with_history();
	char *unseen;

	for (int i = 0; spoilers[i].view != NULL; i++) {
		const char *view = spoilers[i].view;

		if (world_int(w, "SELECT count(*) FROM witness.%s", view) != 0)
			CHECK_STR(view, "empty before");
		world_sql(w, "BEGIN");
		world_sql(w, "%s", spoilers[i].spoil);
		if (world_int(w, "SELECT count(*) FROM witness.%s", view) == 0)
			CHECK_STR(spoilers[i].spoil, view);
		world_sql(w, "ROLLBACK");
	}
	world_sql(w, "CREATE TEMP TABLE seen (view text)");
	for (int i = 0; spoilers[i].view != NULL; i++)
		world_sql(w, "INSERT INTO seen VALUES ('%s')", spoilers[i].view);
	unseen = world_text(w, "SELECT string_agg(relname, ' ') FROM pg_class WHERE relkind = 'v' "
			       "AND relnamespace = 'witness'::regnamespace "
			       "AND relname NOT IN (SELECT view FROM seen)");
	CHECK_STR(unseen, NULL);
	world_close(w);
}

static void add_entry(redisContext *redis, const char *key, const char *id, const char *data)
{
	redisReply *reply = redisCommand(redis,
	    "XADD %s %s id n1 source stripe type purchase.started subject stripe/p1 "
	    "time 2026-01-01T00:00:00Z data %s",
	    key, id, data);

	CHECK(reply != NULL && reply->type == REDIS_REPLY_STRING);
	freeReplyObject(reply);
}

static void streams_are_copied_as_they_are(void)
{
	static const char data[] = "{\"tab\":\"\t\",\"line\":\"\n\\n\\\"}";
	struct world *w = world_open(2);
	redisContext *redis = world_redis(w);
	char *copied;

	witness_install(w);
	add_entry(
	    redis, "umavez:purchases:{1}", "5-1", "long before, so that the next one is shorter");
	add_entry(redis, "umavez:purchases:{1}", "18-7", data);
	add_entry(redis, "umavez:purchases:{0}", "9-9", "{}");
	witness_streams(w);
	CHECK_INT(world_int(w, "SELECT count(*) FROM witness.entry"), 3);
	CHECK_INT(witness_entries_added(w), 3);
	copied =
	    world_text(w, "SELECT data FROM witness.entry WHERE shard = 1 AND (tick, id) = (18, 7)"
			  " AND place = 1 AND traceparent IS NULL AND message_id = 'n1'");
	CHECK_STR(copied, data);
	CHECK_INT(invariants_broken(w, INVARIANTS_STREAM), 2);
	CHECK_INT(invariants_broken(w, INVARIANTS_STREAM | INVARIANTS_FOREIGN), 0);
	free(copied);
	redisFree(redis);
	world_close(w);
}

static const struct check checks[] = {
    {"an unspoilt history holds", an_unspoilt_history_holds},
    {"every invariant shows what breaks it", every_invariant_shows_what_breaks_it},
    {"streams are copied as they are", streams_are_copied_as_they_are},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("invariants", checks, argc, argv);
}
