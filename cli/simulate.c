/*
 * simulate.c - umavez simulate: hands over to umavez-simulate, beside this program.
 *
 * Its keys sign as if they were the stores': they are not for the program that operators have.
 */
#include "cli/command.h"
#include "common/memory.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int command_simulate(int argc, char **argv)
{
	struct err err = ERR_INIT;
	char own[PATH_MAX], *path;
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	(void)argc;
	own[n > 0 ? n : 0] = '\0';
	path = mem_printf("%s/umavez-simulate", dirname(own));
	execv(path, argv);
	if (errno == ENOENT)
		err_set(&err, ERR_USAGE, "%s is not installed (build the target umavez-simulate)",
		    path);
	else
		err_set(&err, ERR_FATAL, "%s: %s", path, strerror(errno));
	free(path);
	return command_fail("simulate", &err);
}
