#include "tests/support/pg_server.h"

#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/programs.h"
#include "tests/support/text.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define START_MS 300000
#define STOP_MS 30000

/*
 * Only processes die in these tests, never the machine: what a backend wrote is in the page cache
 * and survives, so fsync buys nothing.  Everything that makes a commit wait stays as in production.
 */
static const char settings[] = "listen_addresses = ''\n"
			       "max_connections = 100\n"
			       "wal_level = replica\n"
			       "fsync = off\n"
			       "jit = off\n"
			       "dynamic_shared_memory_type = mmap\n"
			       "log_line_prefix = '%m [%p] %u %a '\n"
			       "log_lock_waits = on\n";

struct pg_server {
	char *bin_dir;
	char *dir;
	char *log;
	char *ping_url;
	struct proc *proc;
};

struct proc_user pg_server_user(void)
{
	const struct passwd *pw;

	if (geteuid() != 0)
		return (struct proc_user){geteuid(), getegid()};
	pw = getpwnam("postgres");
	if (pw == NULL)
		die("running as root, and there is no user postgres");
	return (struct proc_user){pw->pw_uid, pw->pw_gid};
}

static void run(const char *const *argv, const char *log, const struct proc_user *user)
{
	struct proc_spec spec = {.argv = argv, .log = log, .user = user};
	int status = proc_run(&spec, START_MS);

	if (status == 0)
		return;
	file_print_tail(log, 4000);
	if (status < 0)
		die("%s has not ended after %d s: this machine is too busy", argv[0],
		    START_MS / 1000);
	die("%s: exit status %d", argv[0], status);
}

static void append(const char *path, const char *text)
{
	FILE *f = fopen(path, "ae");

	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		die("cannot append to %s: %s", path, strerror(errno));
}

/* Beside path, for what is in nobody's way until publish() puts it there. malloc'd. */
static char *draft_of(const char *path)
{
	char *dir = text_format("%s.XXXXXX", path);

	if (mkdtemp(dir) == NULL)
		die("cannot make %s: %s", dir, strerror(errno));
	return dir;
}

/* Of several programs that got here at once, one wins and the others use its work. */
static void publish(char *draft, const char *path)
{
	if (rename(draft, path) < 0) {
		if (errno != EEXIST && errno != ENOTEMPTY)
			die("cannot rename %s: %s", draft, strerror(errno));
		tree_remove(draft);
	}
	free(draft);
}

/* What initdb makes. */
static void make_cluster(const struct pg_server *s, const char *path, const struct proc_user *user)
{
	char *dir = draft_of(path), *conf, *program;

	program = text_format("%s/initdb", s->bin_dir);
	const char *const initdb[] = {program, "--pgdata", dir, "--username", "postgres", "--auth",
	    "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions", NULL};
	if (chown(dir, user->uid, user->gid) < 0)
		die("cannot give %s away: %s", dir, strerror(errno));
	run(initdb, s->log, user);
	conf = text_format("%s/postgresql.conf", dir);
	append(conf, settings);
	publish(dir, path);
	free(conf);
	free(program);
}

/* The directory `to` exists and is empty, or does not.  Most of the WAL segment is zeros: as a hole
 * it costs no memory. */
static void copy_cluster(const struct pg_server *s, const char *from, const char *to)
{
	char *content = text_format("%s/.", from);
	const char *const cp[] = {
	    "cp", "-a", "--reflink=auto", "--sparse=always", content, to, NULL};

	run(cp, s->log, NULL);
	free(content);
}

static void hash(unsigned *sum, const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		*sum = *sum * 33 + (unsigned char)*c;
}

/* Settings and program are part of the name, so that an older checkout's or another version's
 * template is not taken for ours. */
static char *template_path(const struct pg_server *s, const struct proc_user *user)
{
	char *program = text_format("%s/postgres", s->bin_dir), *identity;
	unsigned sum = 5381;
	struct stat st;

	if (stat(program, &st) < 0)
		die("%s: %s", program, strerror(errno));
	identity = text_format("%s %lld", program, (long long)st.st_mtime);
	hash(&sum, identity);
	hash(&sum, settings);
	free(identity);
	free(program);
	return text_format("%s/umavez-pg-%u-%08x", temp_root(), (unsigned)user->uid, sum);
}

static void copy_template(const struct pg_server *s, const struct proc_user *user)
{
	char *path = template_path(s, user);
	struct stat st;

	if (lstat(path, &st) < 0)
		make_cluster(s, path, user);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != user->uid)
		die("%s is not a directory of the server's user", path);
	copy_cluster(s, path, s->dir);
	free(path);
}

static struct proc *server_proc(const struct pg_server *s, const struct proc_user *user)
{
	char *program = text_format("%s/postgres", s->bin_dir);
	const char *const argv[] = {program, "-D", s->dir, "-k", s->dir, NULL};
	/* SIGQUIT: an immediate shutdown also ends the backends and frees shared memory. */
	struct proc_spec spec = {
	    .argv = argv, .log = s->log, .user = user, .death_signal = SIGQUIT};
	struct proc *p = proc_new(&spec);

	free(program);
	return p;
}

/* Its data is still to come. */
static struct pg_server *new_server(const char *dir, const char *log, const struct proc_user *user)
{
	struct pg_server *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("out of memory");
	if (strlen(dir) + sizeof("/.s.PGSQL.5432") > sizeof(((struct sockaddr_un *)0)->sun_path))
		die("%s is too long a path for a socket: set TMPDIR to a shorter one", dir);
	s->bin_dir = programs_postgres();
	if (s->bin_dir == NULL)
		die("%s", programs_missing());
	s->dir = text_format("%s", dir);
	s->log = text_format("%s", log);
	s->ping_url = pg_server_url(s, "postgres");
	s->proc = server_proc(s, user);
	return s;
}

struct pg_server *pg_server_new(const char *dir, const char *log, bool share_template)
{
	struct proc_user user = pg_server_user();
	struct pg_server *s = new_server(dir, log, &user);

	if (share_template)
		copy_template(s, &user);
	else
		make_cluster(s, dir, &user);
	return s;
}

struct pg_server *pg_server_new_from(const char *kept, const char *dir, const char *log)
{
	struct proc_user user = pg_server_user();
	struct pg_server *s = new_server(dir, log, &user);

	copy_cluster(s, kept, dir);
	return s;
}

void pg_server_keep(const struct pg_server *s, const char *kept)
{
	char *draft = draft_of(kept);

	copy_cluster(s, s->dir, draft);
	publish(draft, kept);
}

struct pg_server *pg_server_new_standby(
    const struct pg_server *primary, const char *dir, const char *log)
{
	struct proc_user user = pg_server_user();
	struct pg_server *s = new_server(dir, log, &user);
	char *conninfo = text_format("host=%s user=postgres", primary->dir);
	char *program = text_format("%s/pg_basebackup", s->bin_dir);
	char *lock;
	const char *const basebackup[] = {program, "--pgdata", dir, "--dbname", conninfo,
	    "--write-recovery-conf", "--checkpoint", "fast", "--no-sync", NULL};

	if (mkdir(dir, 0700) < 0 || chown(dir, user.uid, user.gid) < 0)
		die("cannot make %s: %s", dir, strerror(errno));
	run(basebackup, log, &user);
	/* Our socket is in the data directory, and so is the primary's lock of it. */
	lock = text_format("%s/.s.PGSQL.5432.lock", dir);
	unlink(lock);
	free(lock);
	free(program);
	free(conninfo);
	return s;
}

/* A function that says whether it did what it should. */
static void tell(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_TUPLES_OK || strcmp(PQgetvalue(res, 0, 0), "t") != 0)
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
}

void pg_server_stop_following(struct pg_server *s)
{
	PGconn *conn = PQconnectdb(s->ping_url);
	PGresult *res = PQexec(conn, "ALTER SYSTEM SET primary_conninfo = ''");

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		die("primary_conninfo: %s", PQerrorMessage(conn));
	PQclear(res);
	tell(conn, "SELECT pg_reload_conf()");
	PQfinish(conn);
}

/* What the standby replays may end the statement that waits for it (40001); it is promoted then
 * too, and a second one finds no recovery in progress (55000). */
static bool is_promoted(void *ctx)
{
	PGresult *res = PQexec(ctx, "SELECT pg_promote()");
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	bool promoted =
	    PQresultStatus(res) == PGRES_TUPLES_OK && strcmp(PQgetvalue(res, 0, 0), "t") == 0;

	if (sqlstate && strcmp(sqlstate, "55000") == 0)
		promoted = true;
	else if (!promoted && !(sqlstate && strcmp(sqlstate, "40001") == 0))
		die("pg_promote(): %s", PQerrorMessage(ctx));
	PQclear(res);
	return promoted;
}

void pg_server_promote(struct pg_server *s)
{
	PGconn *conn = PQconnectdb(s->ping_url);

	if (!await(is_promoted, conn, START_MS))
		die("the standby is not promoted");
	PQfinish(conn);
}

static bool answers(void *ctx)
{
	struct pg_server *s = ctx;

	return !proc_alive(s->proc) || PQping(s->ping_url) == PQPING_OK;
}

void pg_server_start(struct pg_server *s)
{
	proc_start(s->proc);
	if (await(answers, s, START_MS) && proc_alive(s->proc))
		return;
	file_print_tail(s->log, 4000);
	if (proc_alive(s->proc))
		die("PostgreSQL does not answer after %d s: this machine is too busy",
		    START_MS / 1000);
	die("PostgreSQL did not start");
}

void pg_server_stop(struct pg_server *s, const char *mode)
{
	int sig = SIGINT;

	if (strcmp(mode, "immediate") == 0)
		sig = SIGQUIT;
	else if (strcmp(mode, "smart") == 0)
		sig = SIGTERM;
	else if (strcmp(mode, "fast") != 0)
		die("no such mode: %s", mode);
	proc_stop(s->proc, sig, STOP_MS);
}

void pg_server_free(struct pg_server *s)
{
	if (s == NULL)
		return;
	pg_server_stop(s, "immediate");
	proc_free(s->proc);
	free(s->bin_dir);
	free(s->dir);
	free(s->log);
	free(s->ping_url);
	free(s);
}

pid_t pg_server_pid(const struct pg_server *s)
{
	return proc_pid(s->proc);
}

char *pg_server_url(const struct pg_server *s, const char *role)
{
	return text_format("postgresql://%s@/postgres?host=%s&port=5432", role, s->dir);
}

char *pg_server_pair_url(const struct pg_server *a, const struct pg_server *b, const char *role)
{
	return text_format("postgresql://%s@/postgres?host=%s,%s&port=5432,5432"
			   "&target_session_attrs=read-write",
	    role, a->dir, b->dir);
}

const char *pg_server_dir(const struct pg_server *s)
{
	return s->dir;
}

char *pg_server_socket(const struct pg_server *s)
{
	return text_format("%s/.s.PGSQL.5432", s->dir);
}
