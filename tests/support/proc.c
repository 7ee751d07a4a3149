#include "tests/support/proc.h"

#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_MS 2

struct proc {
	char **argv;
	char **env;
	char *log; /* NULL: the two descriptors */
	int out_fd, err_fd;
	bool other_user;
	struct proc_user user;
	int death_signal;
	char *url;
	char *admin_url;

	/* A pid may be signalled only until it is reaped: another process may have it afterwards.
	 */
	pthread_mutex_t lock;
	pid_t pid;  /* 0: not running */
	int status; /* of the last run, as proc_wait() gives it */
};

static char **copy_list(const char *const *list)
{
	size_t n = 0;
	char **copy;

	while (list != NULL && list[n] != NULL)
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	if (copy == NULL)
		die("out of memory");
	for (size_t i = 0; i < n; i++)
		copy[i] = text_format("%s", list[i]);
	return copy;
}

static void free_list(char **list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

struct proc *proc_new(const struct proc_spec *spec)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (p == NULL)
		die("out of memory");
	p->argv = copy_list(spec->argv);
	p->env = copy_list(spec->env);
	p->log = spec->log ? text_format("%s", spec->log) : NULL;
	p->out_fd = spec->out_fd;
	p->err_fd = spec->err_fd;
	p->other_user = spec->user != NULL && geteuid() == 0;
	if (p->other_user)
		p->user = *spec->user;
	p->death_signal = spec->death_signal ? spec->death_signal : SIGKILL;
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void proc_set_urls(struct proc *p, const char *url, const char *admin_url)
{
	free(p->url);
	free(p->admin_url);
	p->url = text_format("%s", url);
	p->admin_url = text_format("%s", admin_url);
}

void proc_set_env(struct proc *p, const char *const *env)
{
	free_list(p->env);
	p->env = copy_list(env);
}

bool proc_has_env(const struct proc *p, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; p->env[i] != NULL; i++)
		if (strncmp(p->env[i], name, len) == 0 && p->env[i][len] == '=')
			return true;
	return false;
}

/* The child's side, between fork and exec: async-signal-safe calls only. */
static void become(const struct proc *p, int out_fd, int err_fd, pid_t parent, char **env)
{
	int null_fd = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
	    dup2(err_fd, STDERR_FILENO) < 0)
		return;
	if (p->other_user &&
	    (setgroups(0, NULL) < 0 || setresgid(p->user.gid, p->user.gid, p->user.gid) < 0 ||
		setresuid(p->user.uid, p->user.uid, p->user.uid) < 0))
		return;
	/* After the change of user, which clears it; and the parent may be gone already. */
	if (prctl(PR_SET_PDEATHSIG, p->death_signal) < 0)
		return;
	if (getppid() != parent) {
		errno = ESRCH;
		return;
	}
	execvpe(p->argv[0], p->argv, env);
}

/* Our environment with the process's own on top. The strings are borrowed. */
static char **merge_env(char **own)
{
	size_t n = 0, n_own = 0, used = 0;
	char **all;

	while (environ[n] != NULL)
		n++;
	while (own[n_own] != NULL)
		n_own++;
	all = calloc(n + n_own + 1, sizeof(*all));
	if (all == NULL)
		die("out of memory");
	for (size_t i = 0; i < n_own; i++)
		all[used++] = own[i];
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(environ[i], "=") + 1;
		bool replaced = false;

		for (size_t k = 0; k < n_own; k++)
			replaced |= strncmp(environ[i], own[k], len) == 0;
		if (!replaced)
			all[used++] = environ[i];
	}
	return all;
}

/* The exec's errno comes through a pipe that a successful exec closes. */
static int read_exec_error(int fd)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? error : 0;
}

/* Returns in the parent only. */
static pid_t fork_child(const struct proc *p, int out_fd, int err_fd, int report_fd)
{
	char **env = merge_env(p->env);
	pid_t parent = getpid(), pid = fork();
	int error;

	if (pid == 0) {
		become(p, out_fd, err_fd, parent, env);
		error = errno;
		_exit(write(report_fd, &error, sizeof(error)) < 0 ? 126 : 127);
	}
	if (pid < 0)
		die("fork: %s", strerror(errno));
	free(env);
	return pid;
}

void proc_start(struct proc *p)
{
	int log_fd = -1, report[2], error;
	pid_t pid;

	if (p->log != NULL)
		log_fd = open(p->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if ((p->log != NULL && log_fd < 0) || pipe2(report, O_CLOEXEC) < 0)
		die("%s: %s", p->argv[0], strerror(errno));
	pid = fork_child(p, p->log ? log_fd : p->out_fd, p->log ? log_fd : p->err_fd, report[1]);
	close(report[1]);
	error = read_exec_error(report[0]);
	close(report[0]);
	if (log_fd >= 0)
		close(log_fd);
	if (error != 0)
		die("cannot run %s: %s", p->argv[0], strerror(error));
	pthread_mutex_lock(&p->lock);
	p->pid = pid;
	p->status = -1;
	pthread_mutex_unlock(&p->lock);
}

/* Reap it if it has ended. Called with the lock held. */
static void reap(struct proc *p)
{
	int status;

	if (p->pid == 0 || waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	p->pid = 0;
	p->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool proc_alive(struct proc *p)
{
	bool alive;

	pthread_mutex_lock(&p->lock);
	reap(p);
	alive = p->pid != 0;
	pthread_mutex_unlock(&p->lock);
	return alive;
}

void proc_kill(struct proc *p, int sig)
{
	pthread_mutex_lock(&p->lock);
	reap(p);
	if (p->pid != 0)
		kill(p->pid, sig);
	pthread_mutex_unlock(&p->lock);
}

int proc_wait(struct proc *p, int64_t timeout_ms)
{
	int64_t deadline = now_ms() + timeout_ms;

	while (proc_alive(p)) {
		if (now_ms() >= deadline)
			return -1;
		sleep_ms(POLL_MS);
	}
	return p->status;
}

void proc_stop(struct proc *p, int sig, int64_t timeout_ms)
{
	proc_kill(p, sig);
	if (proc_wait(p, timeout_ms) >= 0)
		return;
	proc_kill(p, SIGKILL);
	if (proc_wait(p, 10000) < 0 && proc_alive(p))
		die("%s (pid %d) cannot be killed", p->argv[0], (int)p->pid);
}

void proc_free(struct proc *p)
{
	if (p == NULL)
		return;
	proc_stop(p, SIGKILL, 10000);
	pthread_mutex_destroy(&p->lock);
	free_list(p->argv);
	free_list(p->env);
	free(p->log);
	free(p->url);
	free(p->admin_url);
	free(p);
}

int proc_run(const struct proc_spec *spec, int64_t timeout_ms)
{
	struct proc *p = proc_new(spec);
	int status;

	proc_start(p);
	status = proc_wait(p, timeout_ms);
	proc_free(p);
	return status;
}

pid_t proc_pid(const struct proc *p)
{
	return p->pid;
}

const char *proc_url(const struct proc *p)
{
	return p->url;
}

const char *proc_admin_url(const struct proc *p)
{
	return p->admin_url;
}

const char *proc_log(const struct proc *p)
{
	return p->log;
}

bool proc_log_has(struct proc *p, const char *text)
{
	return file_has(p->log, text);
}
