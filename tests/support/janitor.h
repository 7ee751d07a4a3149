/*
 * janitor.h - a directory that goes away with the program, however the program ends.
 *
 * A small child waits on a pipe until its other end is closed, by janitor_dismiss() or by our
 * death, and then removes the directory.
 */
#ifndef UMAVEZ_TESTS_JANITOR_H
#define UMAVEZ_TESTS_JANITOR_H

#include <sys/types.h>

struct janitor {
	pid_t pid;
	int fd;
};

void janitor_hire(struct janitor *j, const char *dir);
void janitor_dismiss(struct janitor *j); /* returns when the directory is gone */

#endif
