/* Whoever waited for a subject draws its outbox id after the wait: per subject, id order is commit
 * order. */
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <pthread.h>
#include <stdlib.h>

static struct world *world;

static void emit(PGconn *conn, const char *message_id)
{
	const char *params[] = {message_id};
	PGresult *res = PQexecParams(conn,
	    "SELECT intake.emit('billing', $1, 'invoice.paid', 'customer/7', '{}')", 1, NULL,
	    params, NULL, NULL, 0);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		abort();
	PQclear(res);
}

static void *emit_late(void *conn)
{
	emit(conn, "waited");
	return NULL;
}

static void id_order_is_commit_order(void)
{
	PGconn *holder = world_pg(world), *late = world_pg(world);
	pthread_t thread;
	char *order;

	PQclear(PQexec(holder, "BEGIN"));
	emit(holder, "first");
	CHECK_INT(pthread_create(&thread, NULL, emit_late, late), 0);
	CHECK(world_await_int(world, 1, 10000,
	    "SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event_type = 'Lock'",
	    PQbackendPID(late)));
	emit(holder, "held");
	PQclear(PQexec(holder, "COMMIT"));
	pthread_join(thread, NULL);
	order =
	    world_text(world, "SELECT string_agg(message_id, ' ' ORDER BY id) FROM intake.outbox");
	CHECK_STR(order, "first held waited");
	free(order);
	PQfinish(holder);
	PQfinish(late);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"P5: per subject, id order is commit order", id_order_is_commit_order},
	    {NULL, NULL},
	};
	int status;

	world = world_open(2);
	world_sql(
	    world, "INSERT INTO intake.emitter (role_name, source) VALUES ('postgres', 'billing')");
	status = check_main("schema emit_order", checks, argc, argv);
	world_close(world);
	return status;
}
