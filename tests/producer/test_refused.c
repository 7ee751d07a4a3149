/*
 * What was refused is told: at once, then how many, and nothing of what was sent.
 */
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>

#define SIGNATURE "t=1,v1=00"
#define BODY "{\"id\":\"evt_unsigned\"}"

static struct world *world;

static int post(struct proc *p, const char *path, const char *signature)
{
	char *url = text_format("%s%s", proc_url(p), path);
	const char *const headers[] = {signature, NULL};
	struct http_answer answer;

	http_request("POST", url, headers, BODY, strlen(BODY), 5000, &answer);
	int status = answer.status;
	http_answer_done(&answer);
	free(url);
	return status;
}

static void send_no_http(struct proc *p)
{
	static const char bytes[] = "hello\r\n\r\n";
	size_t len;

	free(http_raw(proc_url(p), bytes, sizeof(bytes) - 1, 5000, &len));
}

#define REFUSED "msg=\"requests refused\" "

static void by_store_and_reason(void)
{
	struct proc *p = stage_producer(world, NULL);
	char *log = text_format("%s", proc_log(p));

	for (int i = 0; i < 3; i++)
		CHECK_INT(post(p, "/webhooks/stripe", "Stripe-Signature: " SIGNATURE), 401);
	CHECK_INT(post(p, "/webhooks/stripe", NULL), 400);
	CHECK_INT(post(p, "/webhooks/nobody", NULL), 404);
	send_no_http(p);
	CHECK_INT(file_count(log, REFUSED), 4);
	CHECK(file_has(log, "level=warn service=producer " REFUSED
			    "store=stripe reason=bad_signature count=1 detail="));
	CHECK(file_has(log, "store=stripe reason=missing_signature count=1 detail="));
	CHECK(file_has(log, "store=none reason=no_route count=1 detail="));
	CHECK(file_has(log, "store=none reason=bad_request count=1 detail="));
	stage_end(p);
	CHECK_INT(file_count(log, REFUSED), 5);
	CHECK(file_has(log, "store=stripe reason=bad_signature count=2 detail="));
	CHECK(!file_has(log, "evt_unsigned") && !file_has(log, SIGNATURE));
	free(log);
}

static void a_secret_that_is_none(void)
{
	static const char *const args[] = {"--stripe-secret", "sk_live_verysecret", NULL};
	struct proc *p = stage_producer(world, args);

	CHECK(file_has(proc_log(p), "level=warn service=producer msg=\"a secret does not begin "
				    "with whsec_"));
	CHECK_INT(file_count(proc_log(p), "option=--stripe-secret"), 1);
	CHECK(!file_has(proc_log(p), "verysecret"));
	stage_end(p);
	p = stage_producer(world, NULL);
	CHECK(!file_has(proc_log(p), "begin with whsec_"));
	stage_end(p);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a line for each store and reason", by_store_and_reason},
	    {"a secret that does not begin with whsec_", a_secret_that_is_none},
	    {NULL, NULL},
	};
	int status;

	world = world_open(1);
	status = check_main("producer refused", checks, argc, argv);
	world_close(world);
	return status;
}
