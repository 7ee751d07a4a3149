#include "tests/support/janitor.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Servers that die with us may still write while rm runs: hence more than one try. */
static char script[] =
    "cat; for i in 1 2 3 4 5 6 7 8 9; do rm -rf -- \"$0\" && exit; sleep 0.3; done";

void janitor_hire(struct janitor *j, const char *dir)
{
	char *name = text_format("%s", dir);
	char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, name, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe: %s", strerror(errno));
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	/* A session of its own: an interrupt at the terminal must not end it with us. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
	error = posix_spawnp(&j->pid, "sh", &files, &attr, argv, environ);
	if (error != 0)
		die("sh: %s", strerror(error));
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	close(ends[0]);
	j->fd = ends[1];
	free(name);
}

void janitor_dismiss(struct janitor *j)
{
	close(j->fd);
	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
