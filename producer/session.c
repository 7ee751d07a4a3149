#include "producer/session.h"

#include "common/clock.h"
#include "common/memory.h"
#include "common/pg.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BACKOFF_MIN_MS = 50, BACKOFF_MAX_MS = 2000 };

enum state { DOWN, CONNECTING, SETTINGS, SCHEMA, RIGHT, IDLE, BUSY, STATES };

struct session {
	struct session_options options;
	enum state state;
	PGconn *conn; /* NULL when DOWN */
	char nonce[33];
	struct event *io;    /* on the socket of conn; NULL until there is one */
	struct event *timer; /* backoff when DOWN, else the deadline */
	bool proven;         /* it has come up before */
	unsigned attempts;   /* since a statement was last committed */
	struct rng rng;

	struct pg_verdict verdict;
	PGresult *result; /* the rows of the statement under way */
	session_done_fn *done;
	void *done_ctx;
};

static void on_socket(evutil_socket_t fd, short what, void *arg);

static void enter(struct session *s, enum state state)
{
	static const bool allowed[STATES][STATES] = {
	    [DOWN] = {[DOWN] = true, [CONNECTING] = true},
	    [CONNECTING] = {[DOWN] = true, [SETTINGS] = true},
	    [SETTINGS] = {[DOWN] = true, [SCHEMA] = true},
	    [SCHEMA] = {[DOWN] = true, [RIGHT] = true, [IDLE] = true},
	    [RIGHT] = {[DOWN] = true, [IDLE] = true},
	    [IDLE] = {[DOWN] = true, [BUSY] = true},
	    [BUSY] = {[DOWN] = true, [IDLE] = true},
	};

	assert(allowed[s->state][state]);
	s->state = state;
}

static void set_timer(struct session *s, int64_t ms)
{
	const struct timeval tv = {ms / 1000, ms % 1000 * 1000};

	evtimer_add(s->timer, &tv);
}

/* Wait for the socket. After each step of connecting it may be another one, under the same number.
 *
 * For one event only: libpq closes a socket that fails, and another thread may have its number
 * before the event is taken away. */
static void watch(struct session *s, short what)
{
	if (s->io && (s->state == CONNECTING || event_get_events(s->io) != what)) {
		event_free(s->io);
		s->io = NULL;
	}
	if (!s->io)
		s->io = event_new(s->options.base, PQsocket(s->conn), what, on_socket, s);
	if (!s->io)
		abort();
	event_add(s->io, NULL);
}

static void close_connection(struct session *s)
{
	if (s->io)
		event_free(s->io);
	s->io = NULL;
	PQclear(s->result);
	s->result = NULL;
	PQfinish(s->conn);
	s->conn = NULL;
}

/* Whoever waits for a statement is told last: it may look at the session. */
static void fail(struct session *s, const struct err *why)
{
	bool was_up = session_is_up(s);
	session_done_fn *done = s->done;

	s->done = NULL;
	close_connection(s);
	enter(s, DOWN);
	set_timer(s, backoff_ms(s->attempts++, BACKOFF_MIN_MS, BACKOFF_MAX_MS, &s->rng));
	if (s->options.down)
		s->options.down(s->options.ctx, was_up, why);
	if (done)
		done(s->done_ctx, NULL, why);
}

static void fail_libpq(struct session *s)
{
	struct err err = ERR_INIT;

	pg_error(s->conn, NULL, &err);
	err.kind = ERR_RETRY;
	fail(s, &err);
}

static void start(struct session *s)
{
	/* The server gives up before we do, so that an answer can still arrive. */
	const struct pg_session session = {
	    .application_name = s->options.application_name,
	    .statement_timeout = s->options.statement_ms * 9 / 10,
	    .lock_timeout = s->options.lock_ms,
	    .idle_in_transaction_timeout = s->options.statement_ms,
	    .connect_timeout = s->options.statement_ms,
	};
	struct err err = ERR_INIT;

	/* The one thing that may block is libpq looking up a host name. */
	if (pg_connect_start(s->options.url, &session, &s->conn, s->nonce, &err) < 0) {
		fail(s, &err);
		return;
	}
	enter(s, CONNECTING);
	set_timer(s, s->options.statement_ms);
	watch(s, EV_WRITE);
}

/* Written as far as the socket takes it; the rest when it is writable. */
static void flush(struct session *s)
{
	int left = PQflush(s->conn);

	if (left < 0)
		fail_libpq(s);
	else
		watch(s, left ? EV_READ | EV_WRITE : EV_READ);
}

static void ask(struct session *s, enum state state, const char *query)
{
	enter(s, state);
	if (!PQsendQuery(s->conn, query))
		fail_libpq(s);
	else
		flush(s);
}

static void step_connect(struct session *s)
{
	struct err err = ERR_INIT;

	switch (PQconnectPoll(s->conn)) {
	case PGRES_POLLING_READING:
		watch(s, EV_READ);
		break;
	case PGRES_POLLING_WRITING:
		watch(s, EV_WRITE);
		break;
	case PGRES_POLLING_OK:
		if (PQsetnonblocking(s->conn, 1) < 0)
			fail_libpq(s);
		else
			ask(s, SETTINGS, pg_session_check_query());
		break;
	default:
		pg_connect_error(s->conn, &err);
		fail(s, &err);
	}
}

static void become_idle(struct session *s)
{
	enter(s, IDLE);
	evtimer_del(s->timer);
	watch(s, EV_READ);
}

static void come_up(struct session *s)
{
	s->proven = true;
	become_idle(s);
	if (s->options.up)
		s->options.up(s->options.ctx);
}

/* Asked, since without a notification nothing would tell. */
static const char right_query[] =
    "SELECT has_function_privilege(to_regproc('intake.receive')::oid, 'EXECUTE') AS has";

static int check_right(const PGresult *res, struct err *err)
{
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		return pg_error(NULL, res, err);
	if (!pg_bool(res, 0, "has"))
		return err_set(err, ERR_USAGE,
		    "no right to execute intake.receive: connect as a member of umavez_producer, "
		    "to which umavez migrate --roles grants it");
	return 0;
}

/* The answer to what this state asks is there: on to the next. */
static void check(struct session *s, const PGresult *res)
{
	struct err err = ERR_INIT;
	int rc;

	if (s->state == SETTINGS)
		rc = pg_session_check(res, s->nonce, &err);
	else if (s->state == SCHEMA)
		rc = pg_schema_check(res, "intake", &err);
	else
		rc = check_right(res, &err);
	if (rc < 0)
		fail(s, &err);
	else if (s->state == SETTINGS)
		ask(s, SCHEMA, pg_schema_check_query("intake"));
	else if (s->state == SCHEMA && !s->proven)
		ask(s, RIGHT, right_query);
	else
		come_up(s);
}

/* PQgetResult() has given NULL: the statement and its transaction are over. */
static void finish(struct session *s)
{
	session_done_fn *done = s->done;
	PGresult *res = s->result;
	struct err err = ERR_INIT;
	bool committed;

	if (s->state != BUSY) {
		s->result = NULL;
		check(s, res);
		PQclear(res);
		return;
	}
	committed = pg_verdict_committed(&s->verdict, s->conn, &err) == 0;
	if (PQstatus(s->conn) != CONNECTION_OK) {
		fail(s, &err);
		return;
	}
	s->done = NULL;
	s->result = NULL;
	if (committed)
		s->attempts = 0;
	become_idle(s);
	done(s->done_ctx, committed ? res : NULL, committed ? NULL : &err);
	PQclear(res);
}

static void keep(struct session *s, PGresult *res)
{
	pg_verdict_result(&s->verdict, s->conn, res);
	if (s->result)
		PQclear(res);
	else
		s->result = res;
}

static void read_results(struct session *s)
{
	PGresult *res;

	while (!PQisBusy(s->conn)) {
		res = PQgetResult(s->conn);
		if (!res) {
			finish(s);
			return;
		}
		keep(s, res);
	}
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct session *s = arg;

	(void)fd;
	if (s->state == CONNECTING) {
		step_connect(s);
	} else if ((what & EV_READ) && !PQconsumeInput(s->conn)) {
		fail_libpq(s);
	} else if (s->state != IDLE) {
		if (what & EV_WRITE)
			flush(s);
		if (s->state != DOWN)
			read_results(s);
	}
	if (s->io)
		event_add(s->io, NULL);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct session *s = arg;
	struct err err = ERR_INIT;

	(void)fd;
	(void)what;
	if (s->state == DOWN) {
		start(s);
		return;
	}
	err_set(&err, ERR_RETRY, "no answer from the database in time");
	fail(s, &err);
}

struct session *session_new(const struct session_options *options)
{
	struct session *s = mem_zalloc(1, sizeof(*s));

	rng_seed_random(&s->rng);
	s->options = *options;
	s->timer = evtimer_new(options->base, on_timer, s);
	if (!s->timer)
		abort();
	set_timer(s, 0);
	return s;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	close_connection(s);
	event_free(s->timer);
	free(s);
}

bool session_is_idle(const struct session *s)
{
	return s->state == IDLE;
}

bool session_is_up(const struct session *s)
{
	return s->state == IDLE || s->state == BUSY;
}

void session_send(
    struct session *s, const struct session_statement *statement, session_done_fn *done, void *ctx)
{
	enter(s, BUSY);
	s->done = done;
	s->done_ctx = ctx;
	pg_verdict_begin(&s->verdict, s->conn);
	set_timer(s, s->options.statement_ms);
	if (PQsendQueryParams(s->conn, statement->sql, statement->n, NULL, statement->values,
		statement->lengths, statement->formats, 0))
		watch(s, PQflush(s->conn) == 0 ? EV_READ : EV_READ | EV_WRITE);
	else
		set_timer(s, 0); /* done is not called from here */
}

void session_drop(struct session *s, const struct err *why)
{
	assert(s->state == IDLE);
	fail(s, why);
}
