#include "simulate/stack.h"

#include "simulate/dead_letters.h"
#include "simulate/handler.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAVE_MS 10000
#define READY_MS 30000
#define READY_POLL_MS 5

/* The first crash of this service at or after place i. */
static size_t next_crash(const struct plan *plan, enum service service, size_t i)
{
	while (i < plan->n_crashes && plan->crashes[i].service != service)
		i++;
	return i;
}

static void start_one(struct stack *s, enum service service)
{
	/* A dead one's shards are soon another's, and its entries soon trimmed: more happens in a
	 * short run. */
	static const char *const relay[] = {"--lease", "1s", "--trim-interval", "1s", NULL};
	static const char *const consumer[] = {
	    "--lease", "1s", "--retry-max", "1s", "--handler", WITNESS_HANDLER, NULL};
	const char *env[] = {NULL, NULL};

	s->armed[service] = next_crash(s->plan, service, 0);
	if (s->armed[service] < s->plan->n_crashes)
		env[0] = s->plan->crashes[s->armed[service]].env;
	if (service == PRODUCER)
		s->services[service] = world_producer(s->world, NULL, env);
	else if (service == RELAY)
		s->services[service] = world_relay(s->world, relay, env);
	else
		s->services[service] = world_consumer(s->world, consumer, env);
}

int stack_open(struct stack *s, const struct config *config, const struct plan *plan,
    const struct progress *progress, const char *bin_dir, struct err *err)
{
	const struct world_options options = {
	    .bin_dir = bin_dir, .leave_nothing = true, .may_refuse = true};

	*s = (struct stack){.plan = plan, .progress = progress};
	s->world = world_open_with(&options);
	progress_say(progress, "PostgreSQL and Redis answer, in %s", world_dir(s->world));
	world_migrate(s->world, (unsigned)config->shards);
	progress_say(progress,
	    "umavez migrate --shards %u --roles: every service has a role of its own",
	    (unsigned)config->shards);
	witness_install(s->world);
	dead_letters_install(s->world);
	return handler_install(s->world, config, &s->function, err);
}

void stack_stop(struct stack *s)
{
	for (int i = 0; i < SERVICES; i++)
		proc_stop(s->services[i], SIGTERM, LEAVE_MS);
}

void stack_close(struct stack *s)
{
	world_close(s->world);
	free(s->function);
	*s = (struct stack){.world = NULL};
}

static void restart(struct stack *s, enum service service)
{
	size_t crash = s->armed[service];
	const char *const env[] = {
	    crash < s->plan->n_crashes ? s->plan->crashes[crash].env : NULL, NULL};

	proc_set_env(s->services[service], env);
	proc_restart(s->services[service]);
	s->crashes++;
}

/* The last warning or error in a service's log; malloc'd, NULL if there is none. */
static char *last_complaint(const struct proc *p)
{
	char *text = file_read(proc_log(p), NULL), *rest = NULL, *ret = NULL;
	const char *last = NULL;

	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		if (strstr(line, " level=warn ") != NULL || strstr(line, " level=error ") != NULL)
			last = line;
	if (last != NULL)
		ret = text_format("%s", last);
	free(text);
	return ret;
}

/* With its own last word, or the end of its log if it had no time for one. */
static int ended_by_itself(struct proc *p, enum service service, int status, struct err *err)
{
	char *complaint = last_complaint(p);
	const char *last_word = complaint ? strstr(complaint, " msg=\"cannot go on\" ") : NULL;
	const char *reason = last_word ? strstr(last_word, " error=") : NULL;

	if (reason == NULL)
		file_print_tail(proc_log(p), 4000);
	err_set(err, ERR_FATAL, "the %s ended by itself, with status %d%s%.400s",
	    service_word(service), status, reason ? ": " : "",
	    reason ? reason + strlen(" error=") : "");
	free(complaint);
	return -1;
}

static int watch_one(struct stack *s, enum service service, struct err *err)
{
	struct proc *p = s->services[service];
	size_t crash = s->armed[service];
	int status;

	if (proc_alive(p))
		return 0;
	status = proc_wait(p, 0);
	if (crash == s->plan->n_crashes || status != 128 + SIGKILL)
		return ended_by_itself(p, service, status, err);
	progress_say(
	    s->progress, "the %s died at %s", service_word(service), s->plan->crashes[crash].point);
	s->armed[service] = next_crash(s->plan, service, crash + 1);
	restart(s, service);
	return 0;
}

int stack_watch(struct stack *s, struct err *err)
{
	for (int i = 0; i < SERVICES; i++)
		if (watch_one(s, (enum service)i, err) < 0)
			return -1;
	return 0;
}

/* What the consumer refuses at its start it refuses before anything is sent. */
static int await_consumer(struct stack *s, struct err *err)
{
	int64_t until_ms = now_ms() + READY_MS;

	while (!proc_is_ready(s->services[CONSUMER])) {
		if (stack_watch(s, err) < 0)
			return -1;
		if (now_ms() >= until_ms) {
			stack_complain(s);
			return err_set(err, ERR_FATAL, "the consumer does not come up");
		}
		sleep_ms(READY_POLL_MS);
	}
	return 0;
}

int stack_start(struct stack *s, struct err *err)
{
	for (int i = 0; i < SERVICES; i++)
		start_one(s, (enum service)i);
	return await_consumer(s, err);
}

void stack_kill(struct stack *s, const struct kill *kill)
{
	struct proc *p = s->services[kill->service];

	proc_kill(p, SIGKILL);
	if (proc_wait(p, LEAVE_MS) < 0)
		die("the %s cannot be killed", service_word(kill->service));
	sleep_ms(kill->pause_ms);
	restart(s, kill->service);
}

bool stack_is_pending(const struct stack *s, size_t crash)
{
	return crash >= s->armed[s->plan->crashes[crash].service];
}

const struct crash *stack_pending(const struct stack *s)
{
	for (size_t i = 0; i < s->plan->n_crashes; i++)
		if (stack_is_pending(s, i))
			return &s->plan->crashes[i];
	return NULL;
}

void stack_complain(const struct stack *s)
{
	for (int i = 0; i < SERVICES; i++) {
		char *complaint = last_complaint(s->services[i]);

		if (complaint != NULL)
			fprintf(stderr, "The %s's last complaint: %s\n",
			    service_word((enum service)i), complaint);
		free(complaint);
	}
}

int64_t stack_calls(struct stack *s)
{
	return world_int(
	    s->world, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM witness.calls");
}
