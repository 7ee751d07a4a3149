#include "common/clock.h"
#include "common/pg.h"
#include "common/schema_version.h"
#include "tests/common/pooler.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static struct world *world;

static const struct pg_session session = {
    .application_name = "umavez-test/0",
    .statement_timeout = 7000,
    .lock_timeout = 3000,
    .idle_in_transaction_timeout = 9000,
    .connect_timeout = 4000,
};

static PGconn *open_ok(const char *url)
{
	struct err err = ERR_INIT;
	PGconn *conn;

	if (pg_connect(url, &session, &conn, &err) < 0)
		CU_FAIL_FATAL(err.message);
	return conn;
}

static void refused(const char *url, enum err_kind kind, const char *part)
{
	struct err err = ERR_INIT;
	PGconn *conn;

	CHECK_INT(pg_connect(url, &session, &conn, &err), -1);
	if (!strstr(err.message, part))
		CU_FAIL_FATAL(err.message);
	CHECK_INT(err.kind, kind);
}

static void expect(PGconn *conn, const char *setting, const char *value)
{
	const char *params[] = {setting};
	struct err err = ERR_INIT;
	PGresult *res;

	CHECK_INT(pg_run(conn, "SELECT current_setting($1) AS v", 1, params, &res, &err), 0);
	CHECK_STR(pg_text(res, 0, "v"), value);
	PQclear(res);
}

static char *url_of(const char *role, const char *more)
{
	return text_format("postgresql://%s@/postgres?host=%s/pg%s", role, world_dir(world), more);
}

static void whatever_the_role_says(void)
{
	char *url = url_of("odd", "");

	world_sql(world, "CREATE ROLE odd LOGIN;"
			 "ALTER ROLE odd SET synchronous_commit = off;"
			 "ALTER ROLE odd SET TimeZone = 'Asia/Tokyo';"
			 "ALTER ROLE odd SET DateStyle = 'SQL, DMY';"
			 "ALTER ROLE odd SET default_transaction_isolation = 'serializable';"
			 "ALTER ROLE odd SET statement_timeout = 1;"
			 "ALTER ROLE odd SET lock_timeout = 1;"
			 "ALTER ROLE odd SET client_min_messages = error;"
			 "ALTER ROLE odd SET standard_conforming_strings = off;"
			 "ALTER ROLE odd SET bytea_output = escape");
	PGconn *conn = open_ok(url);
	expect(conn, "synchronous_commit", "on");
	expect(conn, "TimeZone", "UTC");
	expect(conn, "transaction_isolation", "read committed");
	expect(conn, "statement_timeout", "7s");
	expect(conn, "lock_timeout", "3s");
	expect(conn, "idle_in_transaction_session_timeout", "9s");
	expect(conn, "client_min_messages", "notice");
	expect(conn, "client_encoding", "UTF8");
	expect(conn, "standard_conforming_strings", "on");
	expect(conn, "bytea_output", "hex");
	expect(conn, "application_name", "umavez-test/0");
	PQfinish(conn);
	free(url);
}

static void commit_is_raised_never_lowered(void)
{
	static const char *const cases[][2] = {{"off", "on"}, {"local", "on"},
	    {"remote_write", "on"}, {"on", "on"}, {"remote_apply", "remote_apply"}};
	char *url = url_of("careful", "");

	world_sql(world, "CREATE ROLE careful LOGIN");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_sql(world, "ALTER ROLE careful SET synchronous_commit = %s", cases[i][0]);
		PGconn *conn = open_ok(url);
		expect(conn, "synchronous_commit", cases[i][1]);
		PQfinish(conn);
	}
	free(url);
}

/* A session that waits for work is not to be ended for it. */
static void idle_sessions_stay(void)
{
	char *url = url_of("hasty", "");
	PGconn *conn;

	world_sql(world, "CREATE ROLE hasty LOGIN");
	world_sql(world, "ALTER ROLE hasty SET idle_session_timeout = '10ms'");
	conn = open_ok(url);
	expect(conn, "idle_session_timeout", "0");
	PQfinish(conn);
	free(url);
}

static void options_of_the_url_stay(void)
{
	char *url = url_of("postgres", "&options=-c%20work_mem%3D5MB%20-c%20TimeZone%3DAsia/Tokyo");
	PGconn *conn = open_ok(url);

	expect(conn, "work_mem", "5MB");
	expect(conn, "TimeZone", "UTC");
	PQfinish(conn);
	free(url);

	setenv("PGOPTIONS", "-c work_mem=6MB", 1);
	conn = open_ok(world_admin_url(world));
	expect(conn, "work_mem", "6MB");
	PQfinish(conn);
	unsetenv("PGOPTIONS");
}

static void keyword_form(void)
{
	char *url = text_format("host=%s/pg user=postgres dbname=postgres", world_dir(world));

	PQfinish(open_ok(url));
	free(url);
}

static void read_only_is_lost(void)
{
	char *url = url_of("reader", "");

	world_sql(world, "CREATE ROLE reader LOGIN;"
			 "ALTER ROLE reader SET default_transaction_read_only = on");
	refused(url, ERR_RETRY, "the server is read-only");
	free(url);
}

static void standby_is_lost(void)
{
	char *data = world_text(world, "SHOW data_directory");
	char *signal_file = text_format("%s/standby.signal", data);
	struct stat st;

	CHECK_INT(stat(data, &st), 0);
	world_pg_stop(world, "fast");
	file_write(signal_file, "");
	CHECK_INT(chown(signal_file, st.st_uid, st.st_gid), 0);
	world_pg_start(world);
	refused(world_admin_url(world), ERR_RETRY, "the server is a standby");
	CHECK_INT(world_int(world, "SELECT pg_promote()::int"), 1);
	PQfinish(open_ok(world_admin_url(world)));
	free(signal_file);
	free(data);
}

static void behind(enum pooler_kind kind)
{
	char *dir = text_format("%s/pooler%d", world_dir(world), kind);
	char *server = text_format("%s/pg", world_dir(world));
	char *url = text_format("postgresql://postgres@/postgres?host=%s", dir);
	struct pooler *pooler = pooler_open(kind, dir, server);

	refused(url, ERR_FATAL, "connect to PostgreSQL directly, or through session pooling");
	pooler_close(pooler);
	free(url);
	free(server);
	free(dir);
}

static void b38_pooler_that_refuses(void)
{
	behind(POOLER_REFUSES);
}

static void b38_pooler_that_drops(void)
{
	behind(POOLER_DROPS);
}

static void unreachable(void)
{
	refused("postgresql://postgres@/postgres?host=/nonexistent", ERR_RETRY, "/nonexistent");
	char *url = url_of("nobody_of_this_name", "");
	refused(url, ERR_RETRY, "nobody_of_this_name");
	free(url);
}

static void silent_server(void)
{
	char *dir = text_format("%s/silent", world_dir(world));
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char *url = text_format("postgresql://postgres@/postgres?host=%s", dir);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int64_t began_us = clock_mono_us();

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/.s.PGSQL.5432", dir);
	CHECK_INT(mkdir(dir, 0755), 0);
	CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_INT(listen(fd, 5), 0);
	refused(url, ERR_RETRY, "in time");
	CHECK(clock_mono_us() - began_us < 20000000);
	close(fd);
	free(url);
	free(dir);
}

static void passwords_stay_out_of_errors(void)
{
	static const char *const urls[] = {"postgresql://u:hunter2@[::1/db",
	    "postgresql://u:hunter2/x@127.0.0.1:1/db", "postgresql://u:a@hunter2@127.0.0.1:1/db",
	    "postgresql://u:a?b@hunter2@127.0.0.1:1/db", "postgresql://u:hunter2@127.0.0.1:1/db",
	    "postgresql://u:hunter2@127.0.0.1:1/db?nosuch=1",
	    "postgresql://u:%zzhunter2@127.0.0.1:1/db",
	    "host=127.0.0.1 port=1 password=hunter2 nosuch=1",
	    "host=127.0.0.1 port=1 password='hunter2", "hunter2"};

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct err err = ERR_INIT;
		PGconn *conn;

		CHECK_INT(pg_connect(urls[i], &session, &conn, &err), -1);
		CHECK(err.message[0] != '\0');
		/* The last one is a database's name, by libpq's rules. */
		if (strstr(urls[i], "u:") || strstr(urls[i], "password"))
			CHECK(strstr(err.message, "hunter2") == NULL);
	}
}

static int schema_check(PGconn *conn, int version, struct err *err)
{
	world_sql(world,
	    "TRUNCATE effects.migration;"
	    "INSERT INTO effects.migration SELECT v, '', '', now()"
	    " FROM generate_series(1, %d) v",
	    version);
	return pg_check_schema(conn, "effects", err);
}

static void schema(void)
{
	PGconn *conn = open_ok(world_admin_url(world));
	struct err err = ERR_INIT;

	CHECK_INT(pg_check_schema(conn, "intake", &err), -1);
	CHECK_INT(err.kind, ERR_MISMATCH);
	CHECK_STR(err.message, "schema intake is missing: run umavez migrate");
	world_sql(world, "CREATE SCHEMA effects");
	CHECK_INT(pg_check_schema(conn, "effects", &err), -1);
	CHECK_INT(err.kind, ERR_MISMATCH);
	world_sql(world, "CREATE TABLE effects.migration (version int PRIMARY KEY, name text,"
			 " checksum text, applied_at timestamptz)");
	CHECK_INT(schema_check(conn, 0, &err), -1);
	CHECK_INT(err.kind, ERR_MISMATCH);
	CHECK_INT(schema_check(conn, SCHEMA_VERSION_EFFECTS - 1, &err), -1);
	CHECK_INT(err.kind, ERR_MISMATCH);
	CHECK(strstr(err.message, "run umavez migrate") != NULL);
	CHECK_INT(schema_check(conn, SCHEMA_VERSION_EFFECTS + 1, &err), -1);
	CHECK_INT(err.kind, ERR_MISMATCH);
	CHECK(strstr(err.message, "this binary is older") != NULL);
	CHECK_INT(schema_check(conn, SCHEMA_VERSION_EFFECTS, &err), 0);
	world_sql(world, "CREATE ROLE stranger");
	CHECK_INT(pg_exec(conn, "SET ROLE stranger", &err), 0);
	CHECK_INT(pg_check_schema(conn, "effects", &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK(strstr(err.message, "permission denied for schema effects: connect as") != NULL);
	CHECK(strstr(err.message, "umavez migrate --roles") != NULL);
	program_invocation_short_name = (char[]){"umavez-relay"};
	CHECK_INT(pg_check_schema(conn, "effects", &err), -1);
	CHECK(strstr(err.message, "connect as a member of umavez_relay, which") != NULL);
	PQfinish(conn);
}

/* The number of the last file of schema/ with this name in it. */
static int last_file(const char *name)
{
	DIR *dir = opendir(UMAVEZ_SOURCE_DIR "/schema");
	const struct dirent *entry;
	int last = 0;

	if (!dir)
		die("%s/schema: %s", UMAVEZ_SOURCE_DIR, strerror(errno));
	while ((entry = readdir(dir))) {
		int n = (int)strtol(entry->d_name, NULL, 10);
		if (n > last && strstr(entry->d_name, name))
			last = n;
	}
	closedir(dir);
	return last;
}

static void versions_are_those_of_the_files(void)
{
	CHECK_INT(SCHEMA_VERSION_INTAKE, last_file("_intake_"));
	CHECK_INT(SCHEMA_VERSION_EFFECTS, last_file("_effects_"));
}

static const struct check checks[] = {
    {"whatever the role says", whatever_the_role_says},
    {"synchronous_commit is raised, never lowered", commit_is_raised_never_lowered},
    {"a session may be idle", idle_sessions_stay},
    {"options of the URL stay", options_of_the_url_stay},
    {"keyword form", keyword_form},
    {"a read-only server is lost", read_only_is_lost},
    {"a standby is lost", standby_is_lost},
    {"B38: a pooler that refuses our settings", b38_pooler_that_refuses},
    {"B38: a pooler that drops our settings", b38_pooler_that_drops},
    {"unreachable", unreachable},
    {"a silent server", silent_server},
    {"passwords stay out of errors", passwords_stay_out_of_errors},
    {"schema versions", schema},
    {"versions are those of the files", versions_are_those_of_the_files},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(0);
	status = check_main("common pg_session", checks, argc, argv);
	world_close(world);
	return status;
}
