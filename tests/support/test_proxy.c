/*
 * The proxy does to connections what it says, to an echo server and to real ones.
 */
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/proxy.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MOMENT_MS 100 /* in which nothing should come */
#define WAIT_MS 10000

/* A listener of the test's own behind a proxy, and one connection through it. */
struct line {
	char *dir, *path;
	int listener;
	struct proxy *proxy;
	int client, server;
};

static int connect_to(const struct proxy *p)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_port = htons((uint16_t)proxy_port(p));
	CHECK_INT(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static bool has_link(void *ctx)
{
	return proxy_links(ctx) == 1;
}

static void open_line(struct line *l)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	l->dir = text_format("%s/umavez-proxy-XXXXXX", temp_root());
	CHECK(mkdtemp(l->dir) != NULL);
	l->path = text_format("%s/s", l->dir);
	strncpy(at.sun_path, l->path, sizeof(at.sun_path) - 1);
	l->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(l->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	CHECK_INT(listen(l->listener, 8), 0);
	l->proxy = proxy_open(PROXY_REDIS, l->path);
	l->client = connect_to(l->proxy);
	l->server = accept(l->listener, NULL, NULL);
	CHECK(l->server >= 0);
	CHECK(await(has_link, l->proxy, WAIT_MS));
}

static void close_line(struct line *l)
{
	close(l->client);
	close(l->server);
	proxy_close(l->proxy);
	close(l->listener);
	tree_remove(l->dir);
	free(l->path);
	free(l->dir);
}

static void say(int fd, const char *text)
{
	CHECK_INT(send(fd, text, strlen(text), MSG_NOSIGNAL), (int64_t)strlen(text));
}

static bool is_silent(int fd)
{
	struct pollfd pfd = {fd, POLLIN, 0};

	return poll(&pfd, 1, MOMENT_MS) == 0;
}

/* All of this comes. */
static void hears(int fd, const char *text)
{
	struct pollfd pfd = {fd, POLLIN, 0};
	char heard[64] = "";

	for (size_t n = 0; n < strlen(text);) {
		ssize_t more;

		CHECK_INT(poll(&pfd, 1, WAIT_MS), 1);
		more = recv(fd, heard + n, strlen(text) - n, 0);
		CHECK(more > 0);
		n += (size_t)more;
	}
	CHECK_STR(heard, text);
}

/* 0: regularly; else the error. */
static int how_it_ends(int fd)
{
	struct pollfd pfd = {fd, POLLIN, 0};
	char byte;

	CHECK_INT(poll(&pfd, 1, WAIT_MS), 1);
	return recv(fd, &byte, 1, 0) == 0 ? 0 : errno;
}

static void bytes_and_ends_pass(void)
{
	struct line l;

	open_line(&l);
	say(l.client, "+question\r\n");
	hears(l.server, "+question\r\n");
	say(l.server, "+answer\r\n");
	hears(l.client, "+answer\r\n");
	shutdown(l.client, SHUT_WR);
	CHECK_INT(how_it_ends(l.server), 0);
	say(l.server, "+still\r\n");
	hears(l.client, "+still\r\n");
	CHECK_INT(proxy_links(l.proxy), 1);
	close_line(&l);
}

static void one_way_is_held_and_released(void)
{
	struct line l;

	open_line(&l);
	proxy_hold(l.proxy, PROXY_TO_CLIENT);
	say(l.client, "+question\r\n");
	hears(l.server, "+question\r\n");
	say(l.server, "+answer\r\n");
	CHECK(is_silent(l.client));
	proxy_hold(l.proxy, 0);
	hears(l.client, "+answer\r\n");
	close_line(&l);
}

/* Not even the end of a connection gets through, and new ones look as if they were taken. */
static void a_black_hole_swallows_all(void)
{
	struct line l;
	int second;

	open_line(&l);
	proxy_hold(l.proxy, PROXY_BOTH);
	say(l.client, "+question\r\n");
	say(l.server, "+answer\r\n");
	close(l.client);
	CHECK(is_silent(l.server));
	second = connect_to(l.proxy);
	say(second, "+another\r\n");
	CHECK(is_silent(second));
	proxy_hold(l.proxy, 0);
	hears(l.server, "+question\r\n");
	CHECK_INT(how_it_ends(l.server), 0);
	l.client = second;
	close_line(&l);
}

static void forgotten_for_good(void)
{
	struct line l;
	int second;

	open_line(&l);
	proxy_forget(l.proxy);
	say(l.client, "+question\r\n");
	CHECK(is_silent(l.server));
	close(l.server);
	CHECK(is_silent(l.client));
	second = connect_to(l.proxy);
	l.server = accept(l.listener, NULL, NULL);
	say(second, "+another\r\n");
	hears(l.server, "+another\r\n");
	close(second);
	close_line(&l);
}

static void a_delay_delays(void)
{
	int64_t since_ms;
	struct line l;

	open_line(&l);
	proxy_delay(l.proxy, 2 * MOMENT_MS);
	since_ms = now_ms();
	say(l.client, "+question\r\n");
	hears(l.server, "+question\r\n");
	CHECK(now_ms() - since_ms >= 2 * MOMENT_MS);
	close_line(&l);
}

static void a_cut_ends_both(void)
{
	struct line l;

	open_line(&l);
	proxy_cut(l.proxy, PROXY_CLOSE);
	CHECK_INT(how_it_ends(l.client), 0);
	CHECK_INT(how_it_ends(l.server), 0);
	close_line(&l);
	open_line(&l);
	proxy_hold(l.proxy, PROXY_BOTH);
	proxy_cut(l.proxy, PROXY_RESET);
	CHECK_INT(how_it_ends(l.client), ECONNRESET);
	CHECK_INT(how_it_ends(l.server), 0);
	close_line(&l);
}

static void a_cut_after_some_bytes(void)
{
	struct line l;

	open_line(&l);
	proxy_cut_after(l.proxy, PROXY_TO_CLIENT, 12);
	say(l.server, "+answer\r\n");
	hears(l.client, "+answer\r\n");
	say(l.server, "+more\r\n");
	hears(l.client, "+mo");
	CHECK_INT(how_it_ends(l.client), 0);
	close_line(&l);
}

static void half_closed(void)
{
	struct line l;

	open_line(&l);
	proxy_half_close(l.proxy, PROXY_TO_CLIENT);
	CHECK_INT(how_it_ends(l.client), 0);
	say(l.server, "+lost\r\n");
	say(l.client, "+question\r\n");
	hears(l.server, "+question\r\n");
	close_line(&l);
}

static PGconn *pg_through(const struct world *w, const struct proxy *p)
{
	char *url = proxy_url(p, world_admin_url(w));
	PGconn *conn = PQconnectdb(url);

	CHECK_INT(PQstatus(conn), CONNECTION_OK);
	free(url);
	return conn;
}

static bool works(PGconn *conn, const char *sql)
{
	PGresult *res = PQexecParams(conn, sql, 0, NULL, NULL, NULL, NULL, 0);
	bool good =
	    PQresultStatus(res) == PGRES_TUPLES_OK || PQresultStatus(res) == PGRES_COMMAND_OK;

	PQclear(res);
	return good;
}

/* Looks done until its deferred constraint fails, at the commit; or is not committed yet. */
static void spare_what_is_not_done(struct world *w, struct proxy *p)
{
	PGconn *conn = pg_through(w, p);

	proxy_cut_answer(p, "INTO things", PROXY_KEEP_ALL);
	CHECK(works(conn, "SELECT count(*) FROM things"));
	CHECK(!works(conn, "INSERT INTO things VALUES (13)"));
	CHECK(works(conn, "BEGIN") && works(conn, "INSERT INTO things VALUES (1)"));
	CHECK(works(conn, "ROLLBACK"));
	CHECK_INT(PQstatus(conn), CONNECTION_OK);
	CHECK_INT(proxy_answers_cut(p), 0);
	PQfinish(conn);
}

/* An insert in a transaction of its own. */
static void cut_implicit(struct world *w, struct proxy *p, enum proxy_keep keep)
{
	PGconn *conn = pg_through(w, p);
	int64_t rows = world_int(w, "SELECT count(*) FROM things");
	PGresult *res;

	proxy_cut_answer(p, "INTO things", keep);
	CHECK(PQsendQueryParams(
	    conn, "INSERT INTO things VALUES (1) RETURNING n", 0, NULL, NULL, NULL, NULL, 0));
	res = PQgetResult(conn);
	/* The rows come before the commit: they prove nothing. */
	CHECK_INT(
	    PQresultStatus(res), keep == PROXY_KEEP_END ? PGRES_TUPLES_OK : PGRES_FATAL_ERROR);
	PQclear(res);
	while ((res = PQgetResult(conn)) != NULL)
		PQclear(res);
	CHECK_INT(PQstatus(conn), CONNECTION_BAD);
	CHECK_INT(world_int(w, "SELECT count(*) FROM things"), rows + 1);
	PQfinish(conn);
}

static void cut_explicit(struct world *w, struct proxy *p)
{
	PGconn *conn = pg_through(w, p);
	int64_t rows = world_int(w, "SELECT count(*) FROM things");

	proxy_cut_answer(p, "COMMIT", PROXY_KEEP_ALL);
	CHECK(works(conn, "BEGIN") && works(conn, "INSERT INTO things VALUES (1)"));
	CHECK(!works(conn, "COMMIT"));
	CHECK_INT(PQstatus(conn), CONNECTION_BAD);
	CHECK_INT(world_int(w, "SELECT count(*) FROM things"), rows + 1);
	PQfinish(conn);
}

static void cut_prepared(struct world *w, struct proxy *p)
{
	PGconn *conn = pg_through(w, p);
	PGresult *res;

	proxy_cut_answer(p, "adds", PROXY_KEEP_ALL);
	PQclear(PQprepare(conn, "adds", "INSERT INTO things VALUES (2)", 0, NULL));
	CHECK_INT(PQstatus(conn), CONNECTION_OK);
	res = PQexecPrepared(conn, "adds", 0, NULL, NULL, NULL, 0);
	CHECK_INT(PQresultStatus(res), PGRES_FATAL_ERROR);
	CHECK_INT(world_int(w, "SELECT count(*) FROM things WHERE n = 2"), 1);
	PQclear(res);
	PQfinish(conn);
}

static void done_and_not_answered_by_postgresql(void)
{
	struct world *w = world_open(0);
	struct proxy *p = world_pg_proxy(w);

	world_sql(w, "CREATE TABLE numbers (n integer PRIMARY KEY)");
	world_sql(w, "INSERT INTO numbers VALUES (1), (2)");
	world_sql(w, "CREATE TABLE things "
		     "(n integer REFERENCES numbers DEFERRABLE INITIALLY DEFERRED)");
	spare_what_is_not_done(w, p);
	cut_implicit(w, p, PROXY_KEEP_ALL);
	cut_implicit(w, p, PROXY_KEEP_END);
	cut_explicit(w, p);
	cut_prepared(w, p);
	CHECK_INT(proxy_answers_cut(p), 4);
	world_close(w);
}

static void done_and_not_answered_by_redis(void)
{
	struct world *w = world_open(0);
	struct proxy *p = world_redis_proxy(w);
	redisContext *c = redisConnect("127.0.0.1", proxy_port(p)), *direct = world_redis(w);
	redisReply *reply;

	CHECK(c != NULL && !c->err);
	proxy_cut_answer(p, "EVAL", PROXY_KEEP_ALL);
	reply = redisCommand(c, "EVALSHA 0123456789012345678901234567890123456789 0");
	CHECK(reply != NULL);
	CHECK_INT(reply->type, REDIS_REPLY_ERROR);
	freeReplyObject(reply);
	reply = redisCommand(c, "INCR n");
	CHECK_INT(reply->integer, 1);
	freeReplyObject(reply);
	CHECK(redisCommand(c, "EVAL %s 1 n", "return redis.call('INCR', KEYS[1])") == NULL);
	reply = redisCommand(direct, "GET n");
	CHECK_STR(reply->str, "2");
	freeReplyObject(reply);
	redisFree(c);
	redisFree(direct);
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"bytes and ends pass", bytes_and_ends_pass},
	    {"one way is held, and released", one_way_is_held_and_released},
	    {"a black hole swallows all", a_black_hole_swallows_all},
	    {"forgotten for good", forgotten_for_good},
	    {"a delay delays", a_delay_delays},
	    {"a cut ends both ways", a_cut_ends_both},
	    {"a cut after some bytes", a_cut_after_some_bytes},
	    {"half closed", half_closed},
	    {"done and not answered: PostgreSQL", done_and_not_answered_by_postgresql},
	    {"done and not answered: Redis", done_and_not_answered_by_redis},
	    {NULL, NULL},
	};

	return check_main("support proxy", checks, argc, argv);
}
