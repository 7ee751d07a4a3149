/*
 * stack.h - private servers, the three services, and the user's handler, watched.
 *
 * A service that dies at its crash point is started again, with the next one of its crash points in
 * front of it.  One that ends by itself in any other way is a failure of the run.
 */
#ifndef UMAVEZ_SIMULATE_STACK_H
#define UMAVEZ_SIMULATE_STACK_H

#include "simulate/plan.h"
#include "simulate/progress.h"
#include "tests/support/witness.h"

struct stack {
	const struct plan *plan;
	const struct progress *progress;
	struct world *world;
	char *function; /* the handler's name as it may stand in a statement */
	struct proc *services[SERVICES];
	size_t armed[SERVICES]; /* the crash that this life is to end in; plan->n_crashes: none */
	int crashes;            /* and kills, so far */
};

/*
 * Everything but the services. ERR_USAGE: the user's SQL, handler or query is refused.  plan and
 * progress are borrowed until stack_close(), which is needed after a failure too.
 */
int stack_open(struct stack *s, const struct config *config, const struct plan *plan,
    const struct progress *progress, const char *bin_dir, struct err *err) warn_unused;
/* ERR_FATAL: a service refused to start. */
int stack_start(struct stack *s, struct err *err) warn_unused;
void stack_stop(struct stack *s); /* the services; the servers stay */
void stack_close(struct stack *s);

/* To be called often. ERR_FATAL: a service ended that should not have. */
int stack_watch(struct stack *s, struct err *err) warn_unused;

/* SIGKILL, the pause, and the next life. */
void stack_kill(struct stack *s, const struct kill *kill);

/* The crash that is still to come, or NULL. */
const struct crash *stack_pending(const struct stack *s);
bool stack_is_pending(const struct stack *s, size_t crash);

/* The last warning or error that each service logged, to stderr. */
void stack_complain(const struct stack *s);

/* How often the handler was called, calls that were rolled back included. */
int64_t stack_calls(struct stack *s);

#endif
