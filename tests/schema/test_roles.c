/*
 * schema/roles.sql: what each service's login role may do, and may not.
 */
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

struct right {
	const char *sql;
	bool allowed;
};

static void check_right(PGconn *conn, const struct right *right)
{
	PGresult *res;
	const char *sqlstate;
	char found[200];

	PQclear(PQexec(conn, "BEGIN"));
	res = PQexec(conn, right->sql);
	sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	snprintf(found, sizeof(found), "%s: %s", sqlstate ? sqlstate : "", right->sql);
	PQclear(res);
	PQclear(PQexec(conn, "ROLLBACK"));
	char *wanted = text_format("%s: %s", right->allowed ? "" : "42501", right->sql);
	CHECK_STR(found, wanted);
	free(wanted);
}

static void check_all(const char *url, const struct right *rights)
{
	PGconn *conn = PQconnectdb(url);

	CHECK(PQstatus(conn) == CONNECTION_OK);
	for (; rights->sql; rights++)
		check_right(conn, rights);
	PQfinish(conn);
}

static void check_producer(void)
{
	static const struct right rights[] = {
	    {"SELECT intake.receive('{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}',"
	     "'{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}')",
		true},
	    {"SELECT version FROM intake.migration", true},
	    {"SELECT shards FROM intake.setting", true},
	    {"NOTIFY umavez_outbox", true},
	    {"SELECT FROM effects.inbox", false},
	    {"SELECT FROM effects.entitlement", false},
	    {"SELECT FROM effects.migration", false},
	    {"INSERT INTO intake.notification DEFAULT VALUES", false},
	    {"UPDATE intake.purchase SET version = 0", false},
	    {"DELETE FROM intake.outbox", false},
	    {"SELECT intake.make_partitions(), intake.forget_bodies(1, 1)", true},
	    {"SELECT intake.drop_expired(1)", false},
	    {"SELECT intake.make_partition('outbox', '2020-01-01')", false},
	    {"SELECT FROM intake.tick", false},
	    {"UPDATE intake.setting SET shards = 1", false},
	    {NULL, false},
	};

	check_all(world_producer_url(world), rights);
}

static void check_relay(void)
{
	static const struct right rights[] = {
	    {"SELECT FROM intake.outbox", true},
	    {"INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
	     " VALUES (0, 1, 2, pg_current_snapshot())",
		true},
	    {"SELECT FROM intake.tick_window(0::smallint, 1)", true},
	    {"UPDATE intake.shard_lease SET holder = 'me'", true},
	    {"UPDATE intake.setting SET xid_floor = '0'", true},
	    {"INSERT INTO intake.stream_group (shard, name) VALUES (0, 'g')", true},
	    {"LISTEN umavez_outbox", true},
	    {"SELECT system_identifier FROM pg_control_system()", true},
	    {"UPDATE intake.purchase SET version = 0", false},
	    {"INSERT INTO intake.notification DEFAULT VALUES", false},
	    {"SELECT FROM intake.notification", false},
	    {"UPDATE intake.outbox SET type = ''", false},
	    {"DELETE FROM intake.outbox", false},
	    {"UPDATE intake.tick SET tick = 9", false},
	    {"DELETE FROM intake.tick", false},
	    {"DELETE FROM intake.outbox_default", false},
	    {"SELECT intake.make_partitions(), intake.drop_expired(1), intake.sweep_default(1, 1)",
		true},
	    {"SELECT intake.lift_retained(), intake.retention_health()", true},
	    {"SELECT intake.forget_bodies(1, 1)", false},
	    {"UPDATE intake.setting SET shards = 1", false},
	    {"SELECT intake.emit('a', 'b', 'c', 'd', '{}')", false},
	    {"SELECT FROM effects.inbox", false},
	    {NULL, false},
	};

	check_all(world_relay_url(world), rights);
}

static void check_consumer(void)
{
	static const struct right rights[] = {
	    {"INSERT INTO effects.cursor (consumer, shard) VALUES ('c', 0)", true},
	    {"SELECT effects.apply_batch('c', 'i', 0::smallint, '0-0', '1-1',"
	     " 'effects.apply_purchase(json)', '{}', '{}', '{}', '{}', '{}', '{}', '{}', now(), "
	     "'{}')",
		true},
	    {"DELETE FROM effects.parked", true},
	    {"SELECT effects.park('c', 0::smallint, '0-0', '1-1', '1-1', 's', 'i', 'a', NULL, NULL,"
	     " now(), '{}', 'retrying', 1, 0, 'x', NULL)",
		true},
	    {"SELECT effects.release('c', 'i', 0::smallint, 's', 'i', 1,"
	     " 'effects.apply_purchase(json)')",
		true},
	    {"SELECT effects.mark('c', 's', 'i', 'retry', NULL)", false},
	    {"DELETE FROM effects.inbox", false},
	    {"SELECT FROM effects.migration", true},
	    {"SELECT shards FROM effects.setting", true},
	    {"UPDATE effects.setting SET shards = 1", false},
	    {"DELETE FROM effects.ledger", false},
	    {"DELETE FROM effects.inbox", false},
	    {"SELECT effects.purge_inbox('c', 0::smallint, '1-0', 1, '-infinity', 1)", true},
	    {"UPDATE effects.ledger SET amount_minor = 0", false},
	    {"SELECT FROM intake.purchase", false},
	    {"SELECT FROM intake.outbox", false},
	    {"SELECT FROM intake.setting", false},
	    {"SELECT intake.emit('a', 'b', 'c', 'd', '{}')", false},
	    {NULL, false},
	};

	check_all(world_consumer_url(world), rights);
}

static void check_operator(void)
{
	static const struct right rights[] = {
	    {"SELECT store, notification_id, kind, remark, xid FROM intake.notification", true},
	    {"SELECT count(*) FROM intake.notification", true},
	    {"SELECT body FROM intake.notification", false},
	    {"SELECT FROM intake.outbox", true},
	    {"SELECT FROM effects.inbox", true},
	    {"SELECT FROM effects.cursor", true},
	    {"SELECT FROM effects.parked", true},
	    {"SELECT effects.mark('c', 's', 'i', 'retry', NULL)", true},
	    {"UPDATE effects.parked SET state = 'retry'", false},
	    {"DELETE FROM effects.parked", false},
	    {"SELECT effects.forget_consumer('c')", true},
	    {"DELETE FROM effects.cursor", false},
	    {"UPDATE intake.purchase SET version = 0", false},
	    {"DELETE FROM effects.inbox", false},
	    {"SELECT intake.emit('a', 'b', 'c', 'd', '{}')", false},
	    {NULL, false},
	};

	check_all(world_operator_url(world), rights);
}

/* The users of redis.acl, each command on a key of theirs. */
static void check_redis(void)
{
	static const struct {
		const char *command;
		bool allowed;
	} rights[] = {
	    {"umavez_relay XADD umavez:x 1-1 a b", true},
	    {"umavez_relay XTRIM umavez:x MAXLEN 1", true},
	    {"umavez_relay XADD elsewhere 1-1 a b", false},
	    {"umavez_relay FLUSHALL", false},
	    {"umavez_relay ASKING", true},
	    {"umavez_relay CLUSTER RESET", false},
	    {"umavez_consumer XREAD STREAMS umavez:x 0", true},
	    {"umavez_consumer XGROUP SETID umavez:x g 0", true},
	    {"umavez_consumer EXISTS umavez:x", true},
	    {"umavez_consumer EXISTS elsewhere", false},
	    {"umavez_consumer XADD umavez:x 1-1 a b", false},
	    {"umavez_consumer XLEN umavez:x", false},
	    {"umavez_consumer XTRIM umavez:x MAXLEN 1", false},
	    {"umavez_operator XLEN umavez:x", true},
	    {"umavez_operator DEL umavez:x", false},
	};
	redisContext *redis = world_redis(world);

	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		char *line = text_format("ACL DRYRUN %s", rights[i].command);
		redisReply *reply = redisCommand(redis, line);

		CHECK(reply && reply->type != REDIS_REPLY_ERROR);
		bool allowed = reply->type == REDIS_REPLY_STATUS;
		if (allowed != rights[i].allowed)
			fprintf(stderr, "%s: %s\n", line, reply->str);
		CHECK_INT(allowed, rights[i].allowed);
		freeReplyObject(reply);
		free(line);
	}
	redisFree(redis);
}

/* Whoever is none of these sees nothing. */
static void check_stranger(void)
{
	static const struct right rights[] = {
	    {"SELECT FROM intake.notification", false},
	    {"SELECT FROM effects.inbox", false},
	    {"SELECT intake.shard_of('a', 'b')", false},
	    {NULL, false},
	};
	const char *const keywords[] = {"dbname", "user", NULL};
	const char *const values[] = {world_admin_url(world), "stranger", NULL};
	PGconn *conn;

	world_sql(world, "CREATE ROLE stranger LOGIN");
	conn = PQconnectdbParams(keywords, values, 1);
	CHECK(PQstatus(conn) == CONNECTION_OK);
	for (const struct right *r = rights; r->sql; r++)
		check_right(conn, r);
	PQfinish(conn);
}

static const struct check checks[] = {
    {"the producer receives, and reads no effects", check_producer},
    {"the relay ticks, and writes no purchase", check_relay},
    {"the consumer applies, and touches no intake", check_consumer},
    {"the operator reads, and marks", check_operator},
    {"Redis: everybody what he needs", check_redis},
    {"anybody else does nothing", check_stranger},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	status = check_main("schema roles", checks, argc, argv);
	world_close(world);
	return status;
}
