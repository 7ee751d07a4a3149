#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/world.h"

#include <stdio.h>

bool await(bool (*condition)(void *), void *ctx, int64_t timeout_ms)
{
	int64_t since_ms = now_ms();

	while (!condition(ctx)) {
		if (now_ms() - since_ms >= timeout_ms)
			return false;
		poll_pause(since_ms);
	}
	return true;
}

struct log_text {
	struct proc *proc;
	const char *text;
};

static bool log_has(void *ctx)
{
	const struct log_text *wanted = ctx;

	return proc_log_has(wanted->proc, wanted->text);
}

bool proc_await_log(struct proc *p, const char *text, int64_t timeout_ms)
{
	struct log_text wanted = {p, text};

	if (await(log_has, &wanted, timeout_ms))
		return true;
	fprintf(stderr, "not within %lld ms in the log: %s\n", (long long)timeout_ms, text);
	file_print_tail(proc_log(p), 4000);
	return false;
}
