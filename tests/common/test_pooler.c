/*
 * B38: a real pgbouncer between PostgreSQL and each program.  Sessions there are not ours alone,
 * and do not take our settings: every program refuses it at start, with one line that says what to
 * do, and leaves nothing half done.
 */
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/pg_server.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_MS 30000
#define STOP_MS 10000
#define ADVICE "connect to PostgreSQL directly, or through session pooling that passes them on"

static struct world *world;

struct bouncer {
	struct proc *proc;
	char *dir;
};

static char *bouncer_url(const struct bouncer *b, const char *role)
{
	return text_format("postgresql://%s@/postgres?host=%s&port=6432", role, b->dir);
}

static bool lets_pass(void *ctx)
{
	char *socket = text_format("%s/.s.PGSQL.6432", ((struct bouncer *)ctx)->dir);
	bool there = access(socket, F_OK) == 0;

	free(socket);
	return there;
}

static void write_file(const struct bouncer *b, const char *name, char *text)
{
	char *path = text_format("%s/%s", b->dir, name);

	file_write(path, text);
	free(path);
	free(text);
}

/* ignored: startup parameters that it drops in silence, where it would refuse the session. */
static void bouncer_start(struct bouncer *b, const char *mode, const char *ignored)
{
	struct proc_user user = pg_server_user();
	char *config, *log;

	b->dir = text_format("%s/%s-%s", world_dir(world), mode, *ignored ? "drops" : "refuses");
	config = text_format("%s/pgbouncer.ini", b->dir);
	log = text_format("%s/pgbouncer.log", b->dir);
	if (mkdir(b->dir, 0755) < 0 || chown(b->dir, user.uid, user.gid) < 0)
		die("cannot make %s: %s", b->dir, strerror(errno));
	write_file(b, "pgbouncer.ini",
	    text_format("[databases]\npostgres = host=%s/pg port=5432\n[pgbouncer]\n"
			"listen_addr =\nlisten_port = 6432\nunix_socket_dir = %s\n"
			"auth_type = trust\nauth_file = %s/users\npool_mode = %s\n"
			"ignore_startup_parameters = %s\n",
		world_dir(world), b->dir, b->dir, mode, ignored));
	write_file(b, "users",
	    text_format("\"postgres\" \"\"\n\"w_producer\" \"\"\n\"w_relay\" \"\"\n"
			"\"w_consumer\" \"\"\n\"w_operator\" \"\"\n"));
	const char *const argv[] = {"/usr/sbin/pgbouncer", config, NULL};
	struct proc_spec spec = {.argv = argv, .log = log, .user = &user};
	b->proc = proc_new(&spec);
	proc_start(b->proc);
	if (!await(lets_pass, b, START_MS)) {
		file_print_tail(log, 4000);
		die("pgbouncer does not come up");
	}
	free(config);
	free(log);
}

static void bouncer_stop(struct bouncer *b)
{
	proc_stop(b->proc, SIGINT, STOP_MS);
	proc_free(b->proc);
	free(b->dir);
}

/* How many lines of the text have this. */
static int lines_with(const char *text, const char *what)
{
	int n = 0;

	for (const char *at = strstr(text, what); at; at = strstr(at, what)) {
		at += strcspn(at, "\n");
		n++;
	}
	return n;
}

static void check_refused(
    const struct bouncer *b, const char *role, const char *binary, const char *const *more)
{
	char *url = bouncer_url(b, role), *err = NULL;
	const char *args[12];
	int n = 0, status;

	for (; *more; more++)
		args[n++] = *more;
	args[n++] = "--database-url";
	args[n++] = url;
	args[n] = NULL;
	status = world_run_all(world, binary, args, NULL, NULL, &err);
	if (status != 1 || lines_with(err, ADVICE) != 1)
		fprintf(stderr, "%s: %s\n", binary, err);
	CHECK_INT(status, 1);
	CHECK_INT(lines_with(err, ADVICE), 1);
	free(err);
	free(url);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check_all_refused(const char *mode, const char *ignored)
{
	struct bouncer b;

	bouncer_start(&b, mode, ignored);
	check_refused(&b, "w_producer", "umavez-producer",
	    WORDS("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--stripe-secret",
		"whsec_test"));
	check_refused(&b, "w_relay", "umavez-relay", WORDS("--admin-listen", "127.0.0.1:0"));
	check_refused(&b, "w_consumer", "umavez-consumer", WORDS("--admin-listen", "127.0.0.1:0"));
	check_refused(&b, "w_operator", "umavez", WORDS("status"));
	check_refused(&b, "w_operator", "umavez", WORDS("dead-letter", "list"));
	check_refused(&b, "postgres", "umavez", WORDS("migrate"));
	bouncer_stop(&b);
}

static void transactions_settings_refused(void)
{
	check_all_refused("transaction", "");
}

static void transactions_settings_dropped(void)
{
	check_all_refused("transaction", "options");
}

static void sessions_settings_dropped(void)
{
	check_all_refused("session", "options");
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B38: transaction pooling that refuses our settings", transactions_settings_refused},
	    {"B38: transaction pooling that drops our settings", transactions_settings_dropped},
	    {"B38: session pooling that drops our settings", sessions_settings_dropped},
	    {NULL, NULL},
	};
	int status;

	world = world_open(2);
	status = check_main("common pooler", checks, argc, argv);
	world_close(world);
	return status;
}
