#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/port.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"
#include "tests/support/world_private.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVE_MS 30000
#define WRAPPED_LIVE_MS 120000
#define LEAVE_MS 20000
#define MAX_ARGS 96

/* A command line that grows; the strings are borrowed. */
struct command {
	const char *argv[MAX_ARGS];
	int n;
};

static void add(struct command *c, const char *arg)
{
	if (c->n == MAX_ARGS - 1)
		die("too many arguments");
	c->argv[c->n++] = arg;
}

static void add_option(struct command *c, const char *name, const char *value)
{
	add(c, name);
	add(c, value);
}

static bool gets_200(const struct proc *p, const char *path)
{
	char *url = text_format("%s%s", proc_admin_url(p), path);
	struct http_answer answer;
	bool good;

	http_request("GET", url, NULL, NULL, 0, 2000, &answer);
	good = answer.status == 200;
	http_answer_done(&answer);
	free(url);
	return good;
}

static bool is_live_or_dead(void *ctx)
{
	return gets_200(ctx, "/livez") || !proc_alive(ctx);
}

bool proc_is_ready(const struct proc *p)
{
	return gets_200(p, "/readyz");
}

static bool is_ready(void *ctx)
{
	return proc_is_ready(ctx);
}

bool proc_await_ready(struct proc *p, int64_t timeout_ms)
{
	if (await(is_ready, p, timeout_ms))
		return true;
	fprintf(stderr, "not ready within %lld ms\n", (long long)timeout_ms);
	file_print_tail(proc_log(p), 4000);
	return false;
}

/* A service with a crash point may die there before it answers: the test's own wish. */
static void start(struct proc *p, int64_t live_ms, bool may_refuse)
{
	bool answers;

	proc_start(p);
	answers = await(is_live_or_dead, p, live_ms);
	if (answers && (may_refuse || proc_alive(p)))
		return;
	if (proc_has_env(p, "UMAVEZ_FAILPOINTS"))
		return;
	file_print_tail(proc_log(p), 4000);
	die("%s: /livez does not answer", proc_log(p));
}

void proc_restart(struct proc *p)
{
	proc_stop(p, SIGKILL, LEAVE_MS);
	start(p, LIVE_MS, false);
}

static struct service *next_service(struct world *w)
{
	if (w->n_services == WORLD_MAX_SERVICES)
		die("too many services in one world");
	return &w->services[w->n_services++];
}

void world_wrap(struct world *w, const char *const *words)
{
	w->wrapper = words;
}

void world_listen_on(struct world *w, const char *host)
{
	w->host = host;
}

static struct proc *new_process(
    const struct world *w, const struct command *c, const char *const *env, const char *log)
{
	char *path = text_format("%s/%s", w->bin_dir, c->argv[0]);
	struct command all = {.n = 0};
	struct proc *p;
	struct proc_spec spec = {.argv = all.argv, .env = env, .log = log};

	for (size_t i = 0; w->wrapper != NULL && w->wrapper[i] != NULL; i++)
		add(&all, w->wrapper[i]);
	add(&all, path);
	for (int i = 1; i < c->n; i++)
		add(&all, c->argv[i]);
	p = proc_new(&spec);
	free(path);
	return p;
}

/* c holds the program's name and what is special to it. Both endpoints are "address:port"; listen
 * is NULL for all but the producer. */
static struct proc *launch(struct world *w, struct command *c, const char *listen,
    const char *const *args, const char *const *env)
{
	struct service *service = next_service(w);
	const char *name = strrchr(c->argv[0], '-') + 1;
	char *log = text_format("%s/%s-%d.log", w->dir, name, w->n_services);
	char *admin, *url = text_format("http://%s", listen ? listen : ""), *admin_url;
	int port;

	service->reserved = port_reserve(&port);
	admin = text_format("%s:%d", w->host, port);
	admin_url = text_format("http://%s", admin);
	add_option(c, "--admin-listen", admin);
	for (; args != NULL && *args != NULL; args++)
		add(c, *args);
	service->proc = new_process(w, c, env, log);
	proc_set_urls(service->proc, listen ? url : admin_url, admin_url);
	start(service->proc, w->wrapper ? WRAPPED_LIVE_MS : LIVE_MS, w->may_refuse);
	free(log);
	free(admin);
	free(url);
	free(admin_url);
	return service->proc;
}

struct signer *world_signer(struct world *w)
{
	if (w->signer == NULL) {
		w->signer = signer_new();
		signer_write(w->signer, w->dir);
	}
	return w->signer;
}

static void add_stores(struct command *c, const struct signer *s)
{
	add_option(c, "--stripe-secret", SIGNER_STRIPE_SECRET);
	add_option(c, "--stripe-test-secret", SIGNER_STRIPE_TEST_SECRET);
	add_option(c, "--apple-bundle-id", SIGNER_BUNDLE_ID);
	add_option(c, "--apple-app-id", SIGNER_APP_ID);
	add_option(c, "--apple-root-file", signer_root_path(s));
	add_option(c, "--google-audience", SIGNER_AUDIENCE);
	add_option(c, "--google-push-account", SIGNER_PUSH_ACCOUNT);
	add_option(c, "--google-jwks-file", signer_jwks_path(s));
}

struct proc *world_producer(struct world *w, const char *const *args, const char *const *env)
{
	struct command c = {.n = 0};
	char *listen, *url = world_pg_url_via(w, ROLE_PRODUCER);
	struct proc *p;
	int port, fd = port_reserve(&port);

	listen = text_format("%s:%d", w->host, port);
	add(&c, "umavez-producer");
	add_option(&c, "--database-url", url);
	add_option(&c, "--listen", listen);
	add_stores(&c, world_signer(w));
	p = launch(w, &c, listen, args, env);
	w->services[w->n_services - 1].reserved_listen = fd;
	free(listen);
	free(url);
	return p;
}

/* A service of both servers. */
static struct proc *launch_as(struct world *w, const char *binary, enum world_role role,
    const char *const *args, const char *const *env)
{
	char *pg_url = world_pg_url_via(w, role), *redis_url = world_redis_url_via(w, role);
	struct command c = {.n = 0};
	struct proc *p;

	add(&c, binary);
	add_option(&c, "--database-url", pg_url);
	add_option(&c, "--redis-url", redis_url);
	p = launch(w, &c, NULL, args, env);
	free(pg_url);
	free(redis_url);
	return p;
}

struct proc *world_relay(struct world *w, const char *const *args, const char *const *env)
{
	return launch_as(w, "umavez-relay", ROLE_RELAY, args, env);
}

struct proc *world_consumer(struct world *w, const char *const *args, const char *const *env)
{
	return launch_as(w, "umavez-consumer", ROLE_CONSUMER, args, env);
}

/* Nobody reads a service's log when a test passes: so a sanitizer's report there must fail it. */
static bool has_sanitizer_report(const struct proc *p)
{
	return file_has(proc_log(p), "Sanitizer: ") || file_has(proc_log(p), ": runtime error: ");
}

void world_services_end(struct world *w)
{
	bool reported = false;

	for (int i = 0; i < w->n_services; i++) {
		struct service *service = &w->services[i];

		/* Leaks are found at a regular exit only. */
		proc_stop(service->proc, SANITIZED ? SIGTERM : SIGKILL, LEAVE_MS);
		if (has_sanitizer_report(service->proc)) {
			file_print_tail(proc_log(service->proc), 20000);
			reported = true;
		}
		proc_free(service->proc);
		close(service->reserved);
		if (service->reserved_listen > 0)
			close(service->reserved_listen);
	}
	w->n_services = 0;
	if (reported)
		die("a sanitizer reported an error in a service");
}
