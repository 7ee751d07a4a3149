#include "common/clock.h"
#include "common/pg.h"
#include "tests/support/check.h"
#include "tests/support/pause.h"
#include "tests/support/world.h"

#include <linux/sockios.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct world *world;

static PGconn *open_ok(void)
{
	const struct pg_session session = {
	    .application_name = "umavez-test", .statement_timeout = 30000};
	struct err err = ERR_INIT;
	PGconn *conn;

	if (pg_connect(world_admin_url(world), &session, &conn, &err) < 0)
		CU_FAIL_FATAL(err.message);
	return conn;
}

static void exec_ok(PGconn *conn, const char *sql)
{
	struct err err = ERR_INIT;

	if (pg_exec(conn, sql, &err) < 0)
		CU_FAIL_FATAL(err.message);
}

/* Gives up after two and a half seconds, of which the server's own timeout is a small part. */
static PGconn *open_impatient(void)
{
	const struct pg_session session = {
	    .application_name = "umavez-test", .statement_timeout = 500, .connect_timeout = 2000};
	struct err err = ERR_INIT;
	PGconn *conn;

	if (pg_connect(world_admin_url(world), &session, &conn, &err) < 0)
		CU_FAIL_FATAL(err.message);
	return conn;
}

/* Its own timeouts do not help when it is stopped. */
static void stopped_server(void)
{
	PGconn *conn = open_impatient();
	int backend = PQbackendPID(conn);
	struct err err = ERR_INIT;

	exec_ok(conn, "BEGIN");
	kill(backend, SIGSTOP);
	int64_t began_us = clock_mono_us();
	CHECK_INT(pg_run(conn, "SELECT 1", 0, NULL, NULL, &err), -1);
	int64_t took_us = clock_mono_us() - began_us;
	kill(backend, SIGCONT); /* a lost connection has no pid, and 0 is everybody */
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_STR(err.message, "no answer from the server in time");
	CHECK(took_us >= 2500000 && took_us < 20000000);
	CHECK(PQstatus(conn) == CONNECTION_BAD);
	CHECK_INT(pg_commit(conn, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	PQfinish(conn);
}

static int send_long(PGconn *conn, struct err *err)
{
	enum { SIZE = 8 << 20 };
	char *text = calloc(1, SIZE + 1);
	const char *params[] = {text};
	PGresult *res = NULL;

	memset(text, 'x', SIZE);
	int rc = pg_run(conn, "SELECT length($1) AS n", 1, params, &res, err);
	if (rc == 0)
		CHECK_INT(pg_int(res, 0, "n"), SIZE);
	PQclear(res);
	free(text);
	return rc;
}

/* More than the sockets hold, to a server that does not read. */
static void stopped_server_and_a_long_statement(void)
{
	PGconn *patient = open_ok(), *conn = open_impatient();
	int backend = PQbackendPID(conn);
	struct err err = ERR_INIT;

	CHECK_INT(send_long(patient, &err), 0);
	kill(backend, SIGSTOP);
	CHECK_INT(send_long(conn, &err), -1);
	kill(backend, SIGCONT);
	CHECK_STR(err.message, "no answer from the server in time");
	PQfinish(conn);
	PQfinish(patient);
}

static void stopped_server_and_the_schema(void)
{
	PGconn *conn = open_impatient();
	int backend = PQbackendPID(conn);
	struct err err = ERR_INIT;

	kill(backend, SIGSTOP);
	CHECK_INT(pg_check_schema(conn, "intake", &err), -1);
	kill(backend, SIGCONT);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_STR(err.message, "no answer from the server in time");
	PQfinish(conn);
}

/* Told to stop, a wait goes on for a while, in which an answer still counts. */
static void told_to_stop(void)
{
	int stop = eventfd(1, EFD_CLOEXEC);
	const struct pg_session session = {
	    .application_name = "test", .stop_fd = stop, .stop_ms = 1000};
	struct err err = ERR_INIT;
	int64_t since_ms;
	PGconn *conn;

	CHECK_INT(pg_connect(world_admin_url(world), &session, &conn, &err), 0);
	CHECK_INT(pg_exec(conn, "SELECT pg_sleep(0.2)", &err), 0);
	since_ms = now_ms();
	CHECK_INT(pg_exec(conn, "SELECT pg_sleep(60)", &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_STR(err.message, "stopping");
	CHECK(now_ms() - since_ms >= 1000 && now_ms() - since_ms < 10000);
	PQfinish(conn);
	close(stop);
}

struct sending {
	PGconn *conn;
	struct err err;
	int rc, in_the_socket; /* bytes */
	pthread_t thread;
};

static void *send_thread(void *arg)
{
	struct sending *s = arg;

	s->rc = send_long(s->conn, &s->err);
	return NULL;
}

static bool socket_is_full(void *ctx)
{
	struct sending *s = ctx;
	int was = s->in_the_socket;

	CHECK_INT(ioctl(PQsocket(s->conn), SIOCOUTQ, &s->in_the_socket), 0);
	return was > 0 && was == s->in_the_socket;
}

/* It reads no further, but has said why. */
static void a_server_that_ends_while_we_write(void)
{
	static struct sending s = {.err = ERR_INIT};
	int backend;

	s.conn = open_ok();
	backend = PQbackendPID(s.conn);
	kill(backend, SIGSTOP);
	CHECK_INT(pthread_create(&s.thread, NULL, send_thread, &s), 0);
	CHECK(await(socket_is_full, &s, 10000));
	world_sql(world, "SELECT pg_terminate_backend(%d)", backend);
	kill(backend, SIGCONT);
	pthread_join(s.thread, NULL);
	CHECK_INT(s.rc, -1);
	CHECK_INT(s.err.kind, ERR_RETRY);
	CHECK_STR(s.err.sqlstate, "57P01");
	PQfinish(s.conn);
}

static const struct check checks[] = {
    {"a stopped server", stopped_server},
    {"a stopped server and a long statement", stopped_server_and_a_long_statement},
    {"a stopped server and the schema", stopped_server_and_the_schema},
    {"told to stop", told_to_stop},
    {"a server that ends while we write", a_server_that_ends_while_we_write},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(0);
	status = check_main("common pg_io", checks, argc, argv);
	world_close(world);
	return status;
}
