#include "simulate/plan.h"

#include "common/clock.h"
#include "common/failpoint.h"
#include "common/memory.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE_MS 300

const char *service_word(enum service service)
{
	static const char *const words[SERVICES] = {"producer", "relay", "consumer"};

	return words[service];
}

/* What text begins with, up to the separator: SERVICES if that is no service. */
static enum service service_of(const char *text, char separator)
{
	for (int i = 0; i < SERVICES; i++) {
		size_t len = strlen(service_word((enum service)i));

		if (strncmp(text, service_word((enum service)i), len) == 0 &&
		    text[len] == separator)
			return (enum service)i;
	}
	return SERVICES;
}

static bool is_point(const char *text, size_t len)
{
	for (const char *const *name = failpoint_names; *name != NULL; name++)
		if (strlen(*name) == len && memcmp(*name, text, len) == 0)
			return true;
	return false;
}

static int read_crash(const char *text, struct crash *ret, struct err *err)
{
	size_t len = strcspn(text, "@");
	const char *nth = text[len] == '@' ? text + len + 1 : "1";

	if (!is_point(text, len))
		return err_set(err, ERR_USAGE, "--crash: there is no crash point \"%.*s\"",
		    (int)(len < 80 ? len : 80), text);
	if (*nth < '1' || *nth > '9' || strlen(nth) > 9 || nth[strspn(nth, "0123456789")] != '\0')
		return err_set(
		    err, ERR_USAGE, "--crash: \"%.80s\" is not a point or point@n", text);
	ret->service = service_of(text, '.');
	ret->point = mem_strdup(text);
	ret->env = mem_printf("UMAVEZ_FAILPOINTS=%.*s=crash@%s", (int)len, text, nth);
	return 0;
}

static int read_kill(const char *text, struct rng *rng, struct kill *ret, struct err *err)
{
	enum service service = service_of(text, '@');
	const char *at = strchr(text, '@');
	char *end = NULL;
	double percent = at ? strtod(at + 1, &end) : 0;

	if (service == SERVICES || at == NULL || strspn(at + 1, "0123456789.") == 0 ||
	    strcmp(end, "%") != 0 || percent > 100)
		return err_set(err, ERR_USAGE,
		    "--kill: \"%.80s\" is not producer, relay or consumer and a moment "
		    "(relay@20%%)",
		    text);
	*ret = (struct kill){service, percent / 100, (int)(rng_next(rng) % PAUSE_MS)};
	return 0;
}

static struct kill draw_kill(struct rng *rng)
{
	struct kill kill = {.service = (enum service)(rng_next(rng) % SERVICES)};

	kill.part = rng_unit(rng);
	kill.pause_ms = (int)(rng_next(rng) % PAUSE_MS);
	return kill;
}

static int by_moment(const void *a, const void *b)
{
	const struct kill *x = a, *y = b;

	return (x->part > y->part) - (x->part < y->part);
}

int plan_make(const struct config *config, uint64_t seed, struct plan *ret_plan, struct err *err)
{
	struct plan plan = {.n_kills = 0};
	struct rng rng;
	int rc = -1;

	rng_seed(&rng, seed);
	plan.kills =
	    mem_zalloc(config->kill.n + (size_t)config->kill_random + 1, sizeof(*plan.kills));
	plan.crashes = mem_zalloc(config->crash.n + 1, sizeof(*plan.crashes));
	for (size_t i = 0; i < config->crash.n; i++, plan.n_crashes++)
		if (read_crash(config->crash.values[i], &plan.crashes[i], err) < 0)
			goto done;
	for (size_t i = 0; i < config->kill.n; i++, plan.n_kills++)
		if (read_kill(config->kill.values[i], &rng, &plan.kills[i], err) < 0)
			goto done;
	for (int64_t i = 0; i < config->kill_random; i++)
		plan.kills[plan.n_kills++] = draw_kill(&rng);
	qsort(plan.kills, plan.n_kills, sizeof(*plan.kills), by_moment);
	*ret_plan = plan;
	plan = (struct plan){.n_kills = 0};
	rc = 0;
done:
	plan_done(&plan);
	return rc;
}

void plan_done(struct plan *plan)
{
	for (size_t i = 0; i < plan->n_crashes; i++) {
		free(plan->crashes[i].point);
		free(plan->crashes[i].env);
	}
	free(plan->crashes);
	free(plan->kills);
	*plan = (struct plan){.n_kills = 0};
}
