#include "simulate/supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
#define N_ENDINGS (sizeof(endings) / sizeof(endings[0]))

static bool is_ending(int sig)
{
	for (size_t i = 0; i < N_ENDINGS; i++)
		if (endings[i] == sig)
			return true;
	return false;
}

/* Reap what has ended. False: no child is left, neither ours nor one that we inherited. */
static bool reap(pid_t worker, int *status)
{
	int one;
	pid_t pid;

	while ((pid = waitpid(-1, &one, WNOHANG)) > 0)
		if (pid == worker)
			*status = one;
	return pid == 0 || errno != ECHILD;
}

/* The child has the default action for these signals, and so dies at once; the rest follows. */
static int watch(pid_t worker, const sigset_t *set, int *ret_signal)
{
	int status = 0, sig;

	while (reap(worker, &status)) {
		if (sigwait(set, &sig) != 0 || !is_ending(sig))
			continue;
		if (*ret_signal == 0)
			kill(worker, SIGTERM);
		*ret_signal = sig;
	}
	return status;
}

/* As if nobody had been there to clean up: the caller sees which signal it was. */
static void die_of(int sig)
{
	sigset_t set;

	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void work_in_child(int (*work)(void *), void *ctx, const sigset_t *before)
{
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, before, NULL);
	status = work(ctx);
	exit(status);
}

int supervise(int (*work)(void *), void *ctx, int *ret_status, struct err *err)
{
	sigset_t set, before;
	int status, sig = 0;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < N_ENDINGS; i++)
		sigaddset(&set, endings[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	/* Whoever loses its parent below us becomes our child. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return err_set(err, ERR_FATAL, "fork: %s", strerror(errno));
	}
	if (pid == 0)
		work_in_child(work, ctx, &before);
	status = watch(pid, &set, &sig);
	if (sig != 0)
		die_of(sig);
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
	return 0;
}
