#include "common/failpoint.h"

#include "common/clock.h"
#include "common/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const failpoint_names[] = {
    "producer.after_verify",
    "producer.before_commit",
    "producer.after_commit",
    "producer.before_reply",
    "relay.before_tick",
    "relay.after_tick",
    "relay.mid_tick",
    "relay.before_append",
    "relay.after_append",
    "relay.before_trim",
    "relay.before_drop",
    "consumer.after_read",
    "consumer.before_inbox",
    "consumer.after_effect",
    "consumer.before_commit",
    "consumer.after_commit",
    "consumer.after_bookmark",
    "consumer.after_start",
    "consumer.before_park",
    "consumer.after_park",
    "consumer.before_release",
    "consumer.after_release",
    NULL,
};

enum { N_POINTS = sizeof(failpoint_names) / sizeof(failpoint_names[0]) - 1 };

enum action { ACTION_NONE, ACTION_CRASH, ACTION_EXIT, ACTION_ERROR, ACTION_SLEEP, ACTION_HANG };

struct point {
	enum action action;
	long sleep_ms;
	unsigned long nth;  /* 0: every hit */
	double probability; /* < 0: certain */
};

/* Written by failpoint_init() before any thread starts; then only hits and draw change. */
static struct point points[N_POINTS];
static const char *log_path;
static atomic_ulong hits[N_POINTS];
static struct rng draw;
static pthread_mutex_t draw_lock = PTHREAD_MUTEX_INITIALIZER;

static int find(const char *name)
{
	for (int i = 0; i < N_POINTS; i++) {
		if (strcmp(failpoint_names[i], name) == 0)
			return i;
	}
	return -1;
}

static bool parse_ulong(const char *text, char **end, unsigned long *ret)
{
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoul(text, end, 10);
	return errno == 0;
}

/* The action itself; *end is left behind it. */
static bool parse_action(char *text, char **end, struct point *point)
{
	static const struct {
		const char *name;
		enum action action;
	} actions[] = {{"crash", ACTION_CRASH}, {"exit", ACTION_EXIT}, {"error", ACTION_ERROR},
	    {"hang", ACTION_HANG}, {"sleep(", ACTION_SLEEP}};
	unsigned long ms;

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		size_t len = strlen(actions[i].name);
		if (strncmp(text, actions[i].name, len) != 0)
			continue;
		point->action = actions[i].action;
		*end = text + len;
		if (point->action != ACTION_SLEEP)
			return true;
		if (!parse_ulong(text + len, end, &ms) || **end != ')' || ms > 3600000)
			return false;
		point->sleep_ms = (long)ms;
		*end += 1;
		return true;
	}
	return false;
}

/* "@3", "%0.01" or nothing. */
static bool parse_condition(char *text, struct point *point)
{
	char *end = text;

	if (*text == '@') {
		if (!parse_ulong(text + 1, &end, &point->nth) || point->nth == 0)
			return false;
	} else if (*text == '%') {
		if (strspn(text + 1, ".0123456789") == 0)
			return false;
		point->probability = strtod(text + 1, &end);
		if (!(point->probability >= 0 && point->probability <= 1))
			return false;
	}
	return *end == '\0';
}

static int parse_spec(char *spec, struct err *err)
{
	struct point point = {.probability = -1};
	char *equals = strchr(spec, '='), *end;

	if (!equals)
		return err_set(err, ERR_USAGE, "UMAVEZ_FAILPOINTS: \"%s\" has no action", spec);
	*equals = '\0';
	int i = find(spec);
	if (i < 0)
		return err_set(err, ERR_USAGE, "UMAVEZ_FAILPOINTS: no failpoint \"%s\"", spec);
	if (!parse_action(equals + 1, &end, &point) || !parse_condition(end, &point))
		return err_set(
		    err, ERR_USAGE, "UMAVEZ_FAILPOINTS: %s: cannot read \"%s\"", spec, equals + 1);
	points[i] = point;
	return 0;
}

static int parse_seed(struct err *err)
{
	const char *text = getenv("UMAVEZ_SEED");
	unsigned long seed = 1;
	char *end;

	if (text && *text && (!parse_ulong(text, &end, &seed) || *end))
		return err_set(err, ERR_USAGE, "UMAVEZ_SEED: \"%s\" is not a number", text);
	rng_seed(&draw, seed);
	return 0;
}

int failpoint_init(struct err *err)
{
	const char *specs = getenv("UMAVEZ_FAILPOINTS");
	char *copy = NULL, *rest = NULL;
	int rc = -1;

	if (!UMAVEZ_FAILPOINTS && specs && *specs)
		return err_set(err, ERR_USAGE,
		    "UMAVEZ_FAILPOINTS is set, but this binary was built without failpoints");
	memset(points, 0, sizeof(points));
	log_path = getenv("UMAVEZ_FAILPOINT_LOG");
	if (parse_seed(err) < 0)
		goto done;
	copy = mem_strdup(specs ? specs : "");
	for (char *spec = strtok_r(copy, ";", &rest); spec; spec = strtok_r(NULL, ";", &rest)) {
		if (parse_spec(spec, err) < 0)
			goto done;
	}
	rc = 0;
done:
	free(copy);
	return rc;
}

/* Before the action, so that the point is on record although the process dies of it. */
static void record(const char *name)
{
	if (!log_path || !*log_path)
		return;
	int fd = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	dprintf(fd, "%s\n", name);
	close(fd);
}

static bool due(const struct point *point, unsigned long hit)
{
	if (point->nth)
		return hit == point->nth;
	if (point->probability < 0)
		return true;
	pthread_mutex_lock(&draw_lock);
	double unit = rng_unit(&draw);
	pthread_mutex_unlock(&draw_lock);
	return unit < point->probability;
}

static int act(const struct point *point, const char *name, struct err *err)
{
	struct timespec ts = {point->sleep_ms / 1000, point->sleep_ms % 1000 * 1000000};

	switch (point->action) {
	case ACTION_NONE:
		break;
	case ACTION_CRASH:
		kill(getpid(), SIGKILL);
		for (;;)
			pause(); /* the signal may land on another thread first */
	case ACTION_EXIT:
		_exit(1);
	case ACTION_ERROR:
		if (err)
			err_set(err, ERR_RETRY, "failpoint %s", name);
		return -1;
	case ACTION_SLEEP:
		while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
			;
		break;
	case ACTION_HANG:
		for (;;)
			pause();
	}
	return 0;
}

int failpoint_hit(const char *name, struct err *err)
{
	int i = find(name);

	assert(i >= 0);
	unsigned long hit = atomic_fetch_add(&hits[i], 1) + 1;
	if (hit == 1)
		record(name);
	if (points[i].action == ACTION_NONE || !due(&points[i], hit))
		return 0;
	return act(&points[i], name, err);
}
