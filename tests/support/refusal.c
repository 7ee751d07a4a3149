#include "tests/support/refusal.h"

#include "tests/support/check.h"

#include <stdlib.h>

void check_refused(
    struct world *w, const char *service, const char *option, const char *value, const char *said)
{
	const char *const args[] = {option, value, "--admin-listen", "127.0.0.1:0", NULL};
	char *out = NULL, *err = NULL;

	CHECK_INT(world_run_all(w, service, args, NULL, &out, &err), 2);
	CHECK_STR(out, "");
	CHECK_STR(err, said);
	free(out);
	free(err);
}
