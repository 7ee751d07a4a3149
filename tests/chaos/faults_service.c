#include "tests/chaos/faults.h"
#include "tests/chaos/scene.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdlib.h>

/* A shutdown may wait for a statement that a silent network holds, and for requests to drain. */
#define LEAVE_MS 30000

void fault_kill(struct scene *s, const struct step *step)
{
	struct member *m = &s->members[step->target];

	m->away = true;
	proc_kill(m->proc, SIGKILL);
	proc_wait(m->proc, LEAVE_MS);
	s->counts.kills++;
}

/* Again, without a crash point if it had one. */
void fault_start(struct scene *s, const struct step *step)
{
	struct member *m = &s->members[step->target];

	proc_set_env(m->proc, NULL);
	proc_restart(m->proc);
	m->away = false;
}

void fault_stop(struct scene *s, const struct step *step)
{
	proc_kill(s->members[step->target].proc, SIGSTOP);
	s->counts.kills++;
}

void fault_continue(struct scene *s, const struct step *step)
{
	proc_kill(s->members[step->target].proc, SIGCONT);
}

void fault_terminate(struct scene *s, const struct step *step)
{
	struct member *m = &s->members[step->target];

	m->away = true;
	proc_kill(m->proc, SIGTERM);
	s->counts.kills++;
}

void fault_terminated(struct scene *s, const struct step *step)
{
	struct member *m = &s->members[step->target];
	int status = proc_wait(m->proc, LEAVE_MS);

	if (status != 0)
		scene_blame(s, "%s: SIGTERM ends with status %d", m->name, status);
	fault_start(s, step);
}

/* It dies there if it comes so far; if not, it is killed at the end. */
void fault_crash_point(struct scene *s, const struct step *step)
{
	static const char *const points[ROLES][8] = {
	    [PRODUCER] = {"producer.after_verify", "producer.before_commit",
		"producer.after_commit", "producer.before_reply"},
	    [RELAY] = {"relay.before_tick", "relay.after_tick", "relay.mid_tick",
		"relay.before_append", "relay.after_append", "relay.before_trim"},
	    [CONSUMER] = {"consumer.after_read", "consumer.before_inbox", "consumer.after_effect",
		"consumer.before_commit", "consumer.after_commit", "consumer.after_bookmark"},
	};
	struct member *m = &s->members[step->target];
	const char *const *point = points[m->role];
	unsigned n = 0;
	char *env;

	while (n < 8 && point[n] != NULL)
		n++;
	point += step->detail % n;
	env = text_format(
	    "UMAVEZ_FAILPOINTS=%s=crash@%u", *point, 1 + (unsigned)(step->detail / n % 20));
	scene_say(s, "    %s", env);
	m->away = true;
	proc_set_env(m->proc, (const char *const[]){env, NULL});
	proc_restart(m->proc);
	s->counts.kills++;
	free(env);
}
