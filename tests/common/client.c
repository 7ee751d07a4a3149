#include "tests/common/client.h"

#include "tests/support/check.h"

struct redis *client_open_at(const char *url, int64_t timeout_ms)
{
	struct err err = ERR_INIT;
	struct redis *r;

	if (redis_open(url, timeout_ms, &r, &err) < 0)
		CU_FAIL_FATAL(err.message);
	return r;
}

struct redis *client_open(struct world *w)
{
	return client_open_at(world_redis_url(w), 5000);
}

void client_command(struct redis *r, const char *text)
{
	struct err err = ERR_INIT;

	if (redis_command(r, NULL, &err, text) < 0)
		CU_FAIL_FATAL(err.message);
}
