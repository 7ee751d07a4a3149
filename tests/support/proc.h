/*
 * proc.h - a child process: started, watched, killed by pid and started again.
 *
 *   new ──start──▶ running ──exit or signal──▶ ended (status kept) ──start──▶ running
 *
 * A child is killed when the thread that started it ends (PR_SET_PDEATHSIG): start processes from a
 * thread that lives as long as they should, in practice the main one.  The verbs that tests use are
 * in world.h; these are for the servers and services that are made of a process.
 */
#ifndef UMAVEZ_TESTS_PROC_H
#define UMAVEZ_TESTS_PROC_H

#include "tests/support/world.h"

struct proc_user {
	uid_t uid; /* to run as when we are root; else ignored */
	gid_t gid;
};

struct proc_spec {
	const char *const *argv;      /* argv[0] is looked up in PATH unless it has a slash */
	const char *const *env;       /* "NAME=value" on top of ours; may be NULL */
	const char *log;              /* where stdout and stderr go, appended; or NULL and */
	int out_fd, err_fd;           /* these two */
	const struct proc_user *user; /* NULL: ourselves */
	int death_signal;             /* what it gets when we die; 0: SIGKILL */
};

/* Everything is copied; nothing runs yet. Free with proc_free(), which kills it. */
struct proc *proc_new(const struct proc_spec *spec);
void proc_free(struct proc *p); /* NULL is fine */

void proc_start(struct proc *p); /* aborts if it cannot be started */

/* Stop politely with sig, by force (SIGKILL) after timeout_ms. */
void proc_stop(struct proc *p, int sig, int64_t timeout_ms);

/* Run to the end: the exit status as proc_wait() gives it. */
int proc_run(const struct proc_spec *spec, int64_t timeout_ms);

bool proc_has_env(const struct proc *p, const char *name); /* in its own part of the environment */

/* What proc_url() and proc_admin_url() give. Copied. */
void proc_set_urls(struct proc *p, const char *url, const char *admin_url);

#endif
