#include "common/pg.h"

#include "common/pg_io.h"

#include <stdio.h>
#include <string.h>

static void ignore_notice(void *arg, const PGresult *notice)
{
	(void)arg;
	(void)notice;
}

static void note_warning(void *arg, const PGresult *notice)
{
	struct pg_verdict *v = arg;
	const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);

	if (!severity || strcmp(severity, "WARNING") != 0 || v->warned)
		return;
	v->warned = true;
	if (!v->failed)
		err_set(&v->err, ERR_RETRY, "WARNING while committing: %s",
		    message ? message : "no text");
}

void pg_verdict_begin(struct pg_verdict *v, PGconn *conn)
{
	*v = (struct pg_verdict){.err = ERR_INIT};
	PQsetNoticeReceiver(conn, note_warning, v);
}

static void fail(struct pg_verdict *v, PGconn *conn, const PGresult *res)
{
	struct err err = ERR_INIT;

	if (v->failed)
		return;
	pg_error(conn, res, &err);
	v->err = err;
	v->failed = true;
}

void pg_verdict_result(struct pg_verdict *v, PGconn *conn, const PGresult *res)
{
	switch (PQresultStatus(res)) {
	case PGRES_COMMAND_OK:
		if (v->failed || strcmp(PQcmdStatus((PGresult *)res), "ROLLBACK") != 0)
			break;
		v->failed = true;
		err_set(&v->err, ERR_RETRY, "COMMIT was answered with ROLLBACK");
		break;
	case PGRES_TUPLES_OK:
	case PGRES_SINGLE_TUPLE:
	case PGRES_PIPELINE_SYNC:
		break;
	default:
		fail(v, conn, res);
	}
}

int pg_verdict_committed(const struct pg_verdict *v, PGconn *conn, struct err *err)
{
	PQsetNoticeReceiver(conn, ignore_notice, NULL);
	if (v->failed || v->warned) {
		*err = v->err;
		return -1;
	}
	if (PQstatus(conn) != CONNECTION_OK)
		return pg_error(conn, NULL, err);
	if (PQtransactionStatus(conn) != PQTRANS_IDLE)
		return err_set(err, ERR_RETRY, "the transaction is still open");
	return 0;
}

int pg_commit(PGconn *conn, struct err *err)
{
	struct pg_verdict verdict;
	PGresult *res;

	pg_verdict_begin(&verdict, conn);
	res = pg_io_query(conn, "COMMIT");
	if (res)
		pg_verdict_result(&verdict, conn, res);
	else
		fail(&verdict, conn, NULL);
	PQclear(res);
	if (pg_verdict_committed(&verdict, conn, err) < 0) {
		if (err->kind == ERR_FATAL)
			err->kind = ERR_RETRY;
		return err_wrap(err, "commit");
	}
	return 0;
}
