/*
 * umavez health, as a container's health check runs it.
 */
#include "common/admin.h"
#include "common/metric.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/stub_server.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
	struct metrics *metrics;
	struct admin *admin;
	atomic_bool ready;
};

static bool is_ready(void *ctx, char *reason, size_t size)
{
	struct fixture *f = ctx;

	if (!atomic_load(&f->ready))
		snprintf(reason, size, "shard 3 \033waits");
	return atomic_load(&f->ready);
}

static void set_up(struct fixture *f, const char *endpoint)
{
	struct err err = ERR_INIT;

	f->metrics = metrics_new();
	atomic_store(&f->ready, true);
	if (admin_open(endpoint, f->metrics, is_ready, f, &f->admin, &err) < 0)
		CU_FAIL_FATAL(err.message);
}

static void tear_down(struct fixture *f)
{
	admin_close(f->admin);
	metrics_free(f->metrics);
}

static void says(const char *endpoint, const char *flag, int status, const char *want)
{
	char *variable = text_format("UMAVEZ_ADMIN_LISTEN=%s", endpoint);
	const char *const env[] = {variable, NULL};
	const char *const args[] = {"health", flag, NULL};
	char *out = NULL, *err = NULL;

	CHECK_INT(world_run_all(NULL, "umavez", args, env, &out, &err), status);
	CHECK(strstr(status == 0 ? out : err, want) != NULL);
	free(variable);
	free(out);
	free(err);
}

static void asks(struct fixture *f, const char *endpoint)
{
	says(endpoint, NULL, 0, "ok\n");
	atomic_store(&f->ready, false);
	says(endpoint, NULL, 1, ": shard 3 \\u{1b}waits\n");
	says(endpoint, "--live", 0, "ok\n");
	atomic_store(&f->ready, true);
}

static void every_address(void)
{
	static const char *const forms[] = {"127.0.0.1:", "0.0.0.0:", "", NULL};
	struct fixture f;

	set_up(&f, "0.0.0.0:0");
	for (int i = 0; forms[i]; i++) {
		char *endpoint = text_format("%s%d", forms[i], admin_port(f.admin));
		asks(&f, endpoint);
		free(endpoint);
	}
	tear_down(&f);
}

static void unix_socket(void)
{
	char *endpoint = text_format("unix:%s/umavez-health-%d", temp_root(), (int)getpid());
	struct fixture f;

	set_up(&f, endpoint);
	asks(&f, endpoint);
	tear_down(&f);
	says(endpoint, NULL, 1, "No such file");
	free(endpoint);
}

static void nobody_there(void)
{
	struct stub_server *stub = stub_open();
	char *endpoint = strdup(stub_url(stub) + strlen("http://"));

	endpoint[strcspn(endpoint, "/")] = '\0';
	stub_answer(stub, -1, "", "", 0);
	says(endpoint, NULL, 1, "");
	stub_close(stub);
	says(endpoint, NULL, 1, "Connection refused");
	says("nonsense", NULL, 2, "is not an address");
	says("", NULL, 2, "--admin-listen (or UMAVEZ_ADMIN_LISTEN) is required");
	free(endpoint);
}

static const struct check checks[] = {
    {"every form of an address", every_address},
    {"a unix socket", unix_socket},
    {"nobody there", nobody_there},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("cli health", checks, argc, argv);
}
