#include "tests/producer/deliver.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/http.h"
#include "tests/support/pause.h"
#include "tests/support/port.h"
#include "tests/support/proc.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct world *world;

/* Run with these words and nothing else; what it says on stderr, malloc'd, must contain `said`. */
static char *run_to_exit(const char *const *args, int status, const char *said)
{
	char *err = NULL;

	CHECK_INT(world_run_all(world, "umavez-producer", args, NULL, NULL, &err), status);
	if (!strstr(err, said))
		fprintf(stderr, "expected \"%s\" in: %s\n", said, err);
	CHECK(strstr(err, said) != NULL);
	return err;
}

static void expect_exit(const char *const *args, int status, const char *said)
{
	free(run_to_exit(args, status, said));
}

static void expect_one_line(const char *err)
{
	CHECK(strchr(err, '\n') == err + strlen(err) - 1);
}

/* Of a wrong configuration it says one plain line, and nothing comes before it. */
static void expect_refusal(const char *const *args, const char *said)
{
	char *err = run_to_exit(args, 2, said);

	CHECK(strncmp(err, "umavez-producer: ", 17) == 0);
	expect_one_line(err);
	free(err);
}

static void help(void)
{
	char *out = NULL;
	const char *const args[] = {"--help", NULL};

	CHECK_INT(world_run(world, &out, "umavez-producer", args), 0);
	CHECK(strstr(out, "--stripe-secret ") != NULL);
	CHECK(strstr(out, "UMAVEZ_DRAIN_TIMEOUT") != NULL);
	free(out);
}

#define EXPECT_2(said, ...) expect_refusal((const char *const[]){__VA_ARGS__, NULL}, said)

static void what_is_wrong_is_named_at_start(void)
{
	EXPECT_2("--nonsense", "--nonsense");
	EXPECT_2("--max-body", "--max-body", "12");
	EXPECT_2("--request-timeout", "--request-timeout", "10 parsecs");
	EXPECT_2("--database-url: not", "--database-url", "nonsense");
	EXPECT_2("--listen", "--listen", "unix:/tmp/socket");
	EXPECT_2("--apple-app-id", "--apple-bundle-id", "com.example");
	EXPECT_2("--apple-bundle-id", "--apple-app-id", "1");
	EXPECT_2("--google-push-account", "--google-audience", "x");
	EXPECT_2("--google-audience", "--google-push-account", "x");
	EXPECT_2("http", "--google-audience", "x", "--google-push-account", "y",
	    "--google-jwks-url", "http://example.com/keys");
	EXPECT_2(
	    "--stripe-secret or --stripe-test-secret, --apple-bundle-id and --apple-app-id, or "
	    "--google-audience and --google-push-account",
	    "--listen", "127.0.0.1:0");
	EXPECT_2("--admin-listen: \"here\" is not an address", "--admin-listen", "here");
	EXPECT_2("not a PostgreSQL URL", "--database-url", "nonsense");
	EXPECT_2("/nowhere", "--google-audience", "x", "--google-push-account", "y",
	    "--google-jwks-file", "/nowhere");
}

static void an_address_in_use_is_fatal(void)
{
	struct sockaddr_in taken = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(taken);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char *address;

	CHECK(bind(fd, (struct sockaddr *)&taken, len) == 0 && listen(fd, 1) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&taken, &len) == 0);
	address = text_format("127.0.0.1:%d", ntohs(taken.sin_port));
	expect_exit((const char *const[]){"--database-url", world_producer_url(world), "--listen",
			address, "--admin-listen", "127.0.0.1:0", "--stripe-secret", "x", NULL},
	    1, "cannot listen on");
	expect_exit((const char *const[]){"--database-url", world_producer_url(world), "--listen",
			"127.0.0.1:0", "--admin-listen", address, "--stripe-secret", "x", NULL},
	    1, address);
	close(fd);
	free(address);
}

/* A producer with no store but what is given, on addresses of its own. */
static struct proc *start_bare(const char *const *more, char **ret_url)
{
	static int n;
	char *log = text_format("%s/bare-%d.log", world_dir(world), n++), *listen, *admin,
	     *admin_url;
	const char *argv[32] = {UMAVEZ_BIN_DIR "/umavez-producer", "--database-url",
	    world_producer_url(world), "--listen"};
	int port, admin_port, fd = port_reserve(&port), admin_fd = port_reserve(&admin_port), i = 4;
	struct proc_spec spec = {.argv = argv, .log = log};
	struct proc *p;

	listen = text_format("127.0.0.1:%d", port);
	admin = text_format("127.0.0.1:%d", admin_port);
	*ret_url = text_format("http://%s", listen);
	admin_url = text_format("http://%s", admin);
	argv[i++] = listen;
	argv[i++] = "--admin-listen";
	argv[i++] = admin;
	for (; more && *more; more++)
		argv[i++] = *more;
	p = proc_new(&spec);
	proc_set_urls(p, *ret_url, admin_url);
	proc_start(p);
	CHECK(proc_await_ready(p, 10000));
	close(fd);
	close(admin_fd);
	free(log);
	free(listen);
	free(admin);
	free(admin_url);
	return p;
}

static void a_store_without_configuration_is_not_there(void)
{
	static const char *const paths[] = {"/webhooks/app-store", "/webhooks/google-play"};
	static const char *const stripe[] = {"--stripe-secret", "x", NULL};
	char *url;
	struct proc *p = start_bare(stripe, &url);

	CHECK(proc_await_log(p, "routes=/webhooks/stripe", 10000));
	for (int i = 0; i < 2; i++) {
		char *full = text_format("%s%s", url, paths[i]);
		struct http_answer answer;
		http_request("POST", full, NULL, "{}", 2, 5000, &answer);
		CHECK_INT(answer.status, 404);
		http_answer_done(&answer);
		free(full);
	}
	proc_free(p);
	free(url);
}

/* Keys that are being fetched: the request waits, others do not, and in the end it is 503. */
static void a_verdict_that_does_not_come(void)
{
	int port, fd = port_reserve(&port);
	char *keys = text_format("http://127.0.0.1:%d/keys", port), *url, *full, *token, *header,
	     *body;
	const char *const args[] = {"--google-audience", SIGNER_AUDIENCE, "--google-push-account",
	    SIGNER_PUSH_ACCOUNT, "--google-jwks-url", keys, "--stripe-secret", SIGNER_STRIPE_SECRET,
	    "--request-timeout", "1s", "--threads", "1", NULL};
	struct http_answer answer;
	struct proc *p;
	int64_t started;

	CHECK(listen(fd, 16) == 0); /* accepts, and never answers */
	p = start_bare(args, &url);
	full = text_format("%s/webhooks/google-play", url);
	token = google_token(world_signer(world), time(NULL));
	header = text_format("Authorization: %s", token);
	body = google_body("later", "{\"packageName\":\"a\",\"eventTimeMillis\":\"1\"}");
	started = now_ms();
	http_request(
	    "POST", full, (const char *const[]){header, NULL}, body, strlen(body), 10000, &answer);
	CHECK_INT(answer.status, 503);
	CHECK(now_ms() - started >= 900 && now_ms() - started < 3000);
	CHECK_INT(deliver(url, "evt_meanwhile", "sub_meanwhile", NULL), 200);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"
				   " WHERE store = 'google_play'"),
	    0);
	http_answer_done(&answer);
	free(full);
	free(token);
	free(header);
	free(body);
	stage_end(p);
	proc_free(p);
	close(fd);
	free(url);
	free(keys);
}

static void sigterm_finishes_what_is_queued(void)
{
	static const char *const args[] = {"--threads", "2", "--database-connections", "2", NULL};
	struct proc *p = stage_producer(world, args);
	static struct delivery d[4];
	struct http_answer answer;
	char *ready = text_format("%s/readyz", proc_admin_url(p));
	PGconn *locker;

	CHECK_INT(deliver(proc_url(p), "evt_drain", "sub_drain", NULL), 200);
	locker = stage_lock(world, "sub_drain");
	for (int i = 0; i < 4; i++) {
		char id[32];
		snprintf(id, sizeof(id), "evt_drain_%d", i);
		delivery_start(&d[i], proc_url(p), id, "sub_drain");
	}
	CHECK(world_await_int(world, 1, 10000,
	    "SELECT (count(*) >= 1)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
	    " AND application_name LIKE 'umavez-producer/%%'"));
	/* All four have been read when two are under way and the others wait behind them. */
	int64_t until = now_ms() + 5000;
	while (
	    now_ms() < until &&
	    world_int(world, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
			     " AND application_name LIKE 'umavez-producer/%%'") +
		    stage_queued(p) <
		4)
		sleep_ms(5);
	proc_kill(p, SIGTERM);
	CHECK(proc_await_log(p, "draining", 5000));
	http_request("GET", ready, NULL, NULL, 0, 5000, &answer);
	CHECK_INT(answer.status, 503);
	http_answer_done(&answer);
	CHECK_INT(deliver(proc_url(p), "evt_drain_late", "sub_drain", NULL), 0);
	stage_unlock(locker);
	for (int i = 0; i < 4; i++) {
		delivery_join(&d[i]);
		CHECK_INT(d[i].status, 200);
	}
	CHECK_INT(proc_wait(p, 5000), 0);
	free(ready);
}

static void draining_has_an_end(void)
{
	static const char *const args[] = {"--drain-timeout", "500ms", NULL};
	struct proc *p = stage_producer(world, args);
	static struct delivery d;
	PGconn *locker;
	int64_t started;

	CHECK_INT(deliver(proc_url(p), "evt_end", "sub_end", NULL), 200);
	locker = stage_lock(world, "sub_end");
	delivery_start(&d, proc_url(p), "evt_end_1", "sub_end");
	CHECK(stage_await_lock_waits(world, 1));
	started = now_ms();
	proc_kill(p, SIGTERM);
	CHECK_INT(proc_wait(p, 10000), 1);
	CHECK(now_ms() - started < 3000);
	delivery_join(&d);
	CHECK_INT(d.status, 503);
	CHECK(proc_log_has(p, "1 unanswered"));
	stage_unlock(locker);
}

static void an_idle_producer_stops_at_once(void)
{
	struct proc *p = stage_producer(world, NULL);
	int64_t started;

	started = now_ms();
	proc_kill(p, SIGTERM);
	CHECK_INT(proc_wait(p, 10000), 0);
	CHECK(now_ms() - started < 2000);
}

/* Whatever is durable at the point, posting again after a restart gives the right answer, and one
 * row of each kind. */
static void die_at(const char *point, const char *answer_after)
{
	char *env = text_format("UMAVEZ_FAILPOINTS=%s=crash", point);
	struct proc *p = world_producer(world, NULL, (const char *const[]){env, NULL});
	char *body;

	CHECK(proc_await_ready(p, 10000));
	CHECK_INT(deliver(proc_url(p), point, point, NULL), 0);
	CHECK_INT(proc_wait(p, 10000), 128 + SIGKILL);
	proc_set_env(p, (const char *const[]){NULL});
	proc_restart(p);
	CHECK(proc_await_ready(p, 10000));
	CHECK_INT(deliver(proc_url(p), point, point, &body), 200);
	CHECK_STR(body, answer_after);
	CHECK_INT(world_int(world,
		      "SELECT count(*) FROM intake.notification n JOIN intake.outbox o"
		      " ON (o.source, o.message_id, o.xid) = (n.store, n.notification_id, n.xid)"
		      " JOIN intake.purchase p ON (p.store, p.store_purchase_id, p.xid) = "
		      "(n.store, n.store_purchase_id, n.xid)"
		      " WHERE n.notification_id = '%s'",
		      point),
	    1);
	free(body);
	free(env);
	proc_kill(p, SIGKILL);
}

static void every_crash_point_is_survived(void)
{
	static const char accepted[] = "{\"outcome\":\"accepted\"}";
	static const char duplicate[] = "{\"outcome\":\"duplicate\"}";

	die_at("producer.after_verify", accepted);
	die_at("producer.before_commit", accepted);
	die_at("producer.after_commit", duplicate);
	die_at("producer.before_reply", duplicate);
}

static void another_schema_is_refused(void)
{
	struct proc *p = stage_producer(world, NULL);

	proc_kill(p, SIGKILL);
	world_sql(world, "INSERT INTO intake.migration (version, name, checksum)"
			 " VALUES (9999, 'future', 'x')");
	expect_exit(
	    (const char *const[]){"--database-url", world_producer_url(world), "--listen",
		"127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--stripe-secret", "x", NULL},
	    3, "older than schema intake");
	world_sql(world, "DELETE FROM intake.migration WHERE version = 9999");
}

static bool accepts(void *ctx)
{
	return deliver(proc_url(ctx), "evt_right", "sub_right", NULL) == 200;
}

/* At its start; one that works keeps working when the right comes back. */
static void a_missing_right_is_refused(void)
{
	static const char *const one[] = {"--threads", "1", "--database-connections", "1", NULL};
	const char *const args[] = {"--database-url", world_producer_url(world), "--listen",
	    "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--stripe-secret", "x", "--log-level",
	    "error", NULL};
	struct proc *p = stage_producer(world, one);
	char *err;

	world_sql(world, "REVOKE EXECUTE ON FUNCTION intake.receive FROM umavez_producer");
	err = run_to_exit(args, 2, "no right to execute intake.receive");
	expect_one_line(err);
	world_sql(world, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
			 " WHERE application_name LIKE 'umavez-producer/%%'");
	CHECK(proc_await_log(p, "the database is back", 10000));
	CHECK_INT(deliver(proc_url(p), "evt_right", "sub_right", NULL), 503);
	world_sql(world, "GRANT EXECUTE ON FUNCTION intake.receive TO umavez_producer");
	CHECK(await(accepts, p, 10000));
	stage_end(p);
	free(err);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"--help", help},
	    {"what is wrong is named at start", what_is_wrong_is_named_at_start},
	    {"an address in use is fatal", an_address_in_use_is_fatal},
	    {"a store without configuration is not there",
		a_store_without_configuration_is_not_there},
	    {"a verdict that does not come", a_verdict_that_does_not_come},
	    {"SIGTERM finishes what is queued", sigterm_finishes_what_is_queued},
	    {"draining has an end", draining_has_an_end},
	    {"an idle producer stops at once", an_idle_producer_stops_at_once},
	    {"every crash point is survived", every_crash_point_is_survived},
	    {"another schema is refused", another_schema_is_refused},
	    {"a missing right is refused", a_missing_right_is_refused},
	    {NULL, NULL},
	};
	int status;

	world = world_open(1);
	status = check_main("producer life", checks, argc, argv);
	world_close(world);
	return status;
}
