#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/port.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"
#include "tests/support/world_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_gone(void *ctx)
{
	return access(ctx, F_OK) < 0 && errno == ENOENT;
}

static bool has_ended(void *ctx)
{
	return kill(*(pid_t *)ctx, 0) < 0 && errno == ESRCH;
}

static void nothing_is_left(void)
{
	struct world *w = world_open(0);
	char *dir = text_format("%s", world_dir(w));

	CHECK_INT(world_int(w, "SELECT 40 + %d", 2), 42);
	CHECK(!is_gone(dir));
	world_close(w);
	CHECK(is_gone(dir));
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	free(dir);
}

/* What a program that dies with its world open leaves to the janitor. */
static int inner(void)
{
	struct world *w = world_open(0);

	printf("%d %d %s", (int)world_redis_pid(w), (int)pg_server_pid(w->pg), world_dir(w));
	fflush(stdout);
	return raise(SIGKILL);
}

static void nothing_is_left_by_a_killed_program(void)
{
	char *log = text_format("%s/umavez-world-%d.log", temp_root(), (int)getpid()), *said, *dir;
	const char *const argv[] = {"/proc/self/exe", "--inner", NULL};
	struct proc_spec spec = {.argv = argv, .log = log};
	pid_t redis, pg;

	CHECK_INT(proc_run(&spec, 60000), 128 + SIGKILL);
	said = file_read(log, NULL);
	unlink(log);
	redis = (pid_t)strtol(said, &dir, 10);
	pg = (pid_t)strtol(dir, &dir, 10);
	CHECK(redis > 1 && pg > 1 && dir[1] == '/');
	CHECK(await(has_ended, &redis, 10000));
	CHECK(await(has_ended, &pg, 10000));
	CHECK(await(is_gone, dir + 1, 10000));
	free(said);
	free(log);
}

/* A service whose log, once it has ended, says what the second argument is. */
static int inner_with_log(const char *text)
{
	/* No such failpoint: it ends at once. */
	const char *const env[] = {"UMAVEZ_FAILPOINTS=none", NULL};
	struct world *w = world_open(0);
	struct proc *p = world_relay(w, NULL, env);
	FILE *log = fopen(proc_log(p), "ae");

	if (log == NULL || fputs(text, log) < 0 || fclose(log) != 0)
		return EXIT_FAILURE;
	world_close(w);
	return EXIT_SUCCESS;
}

static int run_inner_with_log(const char *text)
{
	const char *const args[] = {"--inner", text, NULL};

	return world_run_all(NULL, "/proc/self/exe", args, NULL, NULL, NULL);
}

static void a_sanitizers_report_in_a_services_log_fails_the_program(void)
{
	CHECK_INT(run_inner_with_log("nothing special\n"), 0);
	CHECK_INT(run_inner_with_log("==7==ERROR: AddressSanitizer: heap-use-after-free\n"), 1);
	CHECK_INT(run_inner_with_log("WARNING: ThreadSanitizer: data race\n"), 1);
	CHECK_INT(run_inner_with_log("a.c:1:2: runtime error: shift by 70\n"), 1);
}

static void postgresql_comes_back_with_what_was_committed(void)
{
	struct world *w = world_open(0);

	world_sql(w, "CREATE TABLE t (n int)");
	world_sql(w, "INSERT INTO t VALUES (%d)", 7);
	world_pg_stop(w, "immediate");
	world_pg_start(w);
	CHECK_INT(world_int(w, "SELECT n FROM t"), 7);
	world_close(w);
}

/* When `umavez migrate` ran for a world of so many shards. malloc'd. */
static char *migrated_at(unsigned shards)
{
	struct world *w = world_open(shards);
	char *at = world_text(w, "SELECT max(applied_at) FROM intake.migration");

	CHECK_INT(world_int(w, "SELECT shards FROM intake.setting"), shards);
	CHECK_INT(world_int(w, "SELECT count(*) FROM pg_roles WHERE rolname = 'w_relay'"), 1);
	world_close(w);
	return at;
}

static void one_migration_is_enough_for_a_run(void)
{
	char *dir = text_format("%s/umavez-templates-%d", temp_root(), (int)getpid());
	char *first, *second, *other;

	CHECK_INT(mkdir(dir, 0711), 0);
	setenv("UMAVEZ_TEST_TEMPLATES", dir, 1);
	first = migrated_at(1);
	second = migrated_at(1);
	other = migrated_at(2);
	unsetenv("UMAVEZ_TEST_TEMPLATES");
	CHECK_STR(second, first);
	CHECK(strcmp(other, first) != 0);
	tree_remove(dir);
	free(first);
	free(second);
	free(other);
	free(dir);
}

static void a_terminated_session_is_replaced(void)
{
	struct world *w = world_open(0);
	PGconn *other = world_pg(w);
	int64_t pid = world_int(w, "SELECT pg_backend_pid()");
	char *kill_it = text_format("SELECT pg_terminate_backend(%d, 5000)", (int)pid);

	PQclear(PQexec(other, kill_it));
	CHECK(world_int(w, "SELECT pg_backend_pid()") != pid);
	PQfinish(other);
	free(kill_it);
	world_close(w);
}

static void an_unmet_condition_is_false(void)
{
	struct world *w = world_open(0);

	CHECK(world_await_int(w, 1, 1000, "SELECT 1"));
	CHECK(!world_await_int(w, 2, 50, "SELECT 1"));
	CHECK(!world_await_int(w, 0, 50, "SELECT NULL"));
	CHECK(world_text(w, "SELECT 1 WHERE false") == NULL);
	world_close(w);
}

static char *redis_text(struct world *w, const char *command)
{
	redisContext *c = world_redis(w);
	redisReply *reply = redisCommand(c, command);
	char *text = text_format("%s", reply != NULL && reply->str ? reply->str : "nothing");

	freeReplyObject(reply);
	redisFree(c);
	return text;
}

static void check_redis(struct world *w, const char *command, const char *expected)
{
	char *text = redis_text(w, command);

	CHECK_STR(text, expected);
	free(text);
}

static void redis_comes_back_saved_older_or_empty(void)
{
	struct world *w = world_open(0);

	check_redis(w, "SET k saved", "OK");
	world_redis_stop(w, true);
	world_redis_start(w, true);
	check_redis(w, "GET k", "saved");
	check_redis(w, "SET k newer", "OK");
	world_redis_stop(w, false);
	world_redis_start(w, true);
	check_redis(w, "GET k", "saved");
	world_redis_stop(w, false);
	world_redis_start(w, false);
	check_redis(w, "GET k", "nothing");
	world_close(w);
}

static struct proc *shell(const char *log, const char *script, const char *const *env)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct proc_spec spec = {.argv = argv, .env = env, .log = log};

	return proc_new(&spec);
}

static void a_process_is_watched_and_killed(void)
{
	char *log = text_format("%s/umavez-proc-%d.log", temp_root(), (int)getpid());
	const char *const env[] = {"WORD=first", NULL}, *const later[] = {"WORD=second", NULL};
	struct proc *p = shell(log, "echo $WORD; exec sleep 1000", env);

	CHECK(proc_has_env(p, "WORD") && !proc_has_env(p, "WOR"));
	proc_start(p);
	CHECK(proc_alive(p));
	CHECK(proc_await_log(p, "first", 5000));
	CHECK_INT(proc_wait(p, 20), -1);
	proc_kill(p, SIGTERM);
	CHECK_INT(proc_wait(p, 5000), 128 + SIGTERM);
	CHECK(!proc_alive(p));
	proc_set_env(p, later);
	proc_start(p);
	CHECK(proc_await_log(p, "second", 5000));
	CHECK(proc_log_has(p, "first"));
	CHECK(!proc_await_log(p, "third", 20));
	proc_free(p);
	unlink(log);
	free(log);
}

static void a_run_gives_status_and_output(void)
{
	const char *const args[] = {"-c", "echo out; echo err >&2; echo $MINE; exit 3", NULL};
	const char *const env[] = {"MINE=mine", NULL};
	char *out, *err;

	CHECK_INT(world_run_all(NULL, "/bin/sh", args, env, &out, &err), 3);
	CHECK_STR(out, "out\nmine\n");
	CHECK_STR(err, "err\n");
	free(out);
	free(err);
}

/* As a service does it, with SO_REUSEADDR; -1 if the port is taken. */
static int listen_on(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 5) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void a_reserved_port_can_be_listened_on_again_and_again(void)
{
	int port, reserved = port_reserve(&port);

	for (int i = 0; i < 3; i++) {
		int fd = listen_on(port);

		CHECK(fd >= 0);
		CHECK(listen_on(port) < 0);
		close(fd);
	}
	close(reserved);
}

static const struct check checks[] = {
    {"nothing is left", nothing_is_left},
    {"nothing is left by a killed program", nothing_is_left_by_a_killed_program},
    {"a sanitizer's report in a service's log fails the program",
	a_sanitizers_report_in_a_services_log_fails_the_program},
    {"postgresql comes back with what was committed",
	postgresql_comes_back_with_what_was_committed},
    {"one migration is enough for a run", one_migration_is_enough_for_a_run},
    {"a terminated session is replaced", a_terminated_session_is_replaced},
    {"an unmet condition is false", an_unmet_condition_is_false},
    {"redis comes back saved, older or empty", redis_comes_back_saved_older_or_empty},
    {"a process is watched and killed", a_process_is_watched_and_killed},
    {"a run gives status and output", a_run_gives_status_and_output},
    {"a reserved port can be listened on again and again",
	a_reserved_port_can_be_listened_on_again_and_again},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--inner") == 0)
		return argc > 2 ? inner_with_log(argv[2]) : inner();
	return check_main("world", checks, argc, argv);
}
