/*
 * service.h - the life of a process: start, run until SIGTERM or SIGINT, stop.
 *
 * Signals are blocked in every thread and read from a descriptor, so no handler ever runs.
 */
#ifndef UMAVEZ_SERVICE_H
#define UMAVEZ_SERVICE_H

#include "common/err.h"
#include "common/option.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Everything before main() proper: options, log, failpoints, signal mask.  Returns true when the
 * service should run; false with *ret_status when it should exit at once (--help, --version, or a
 * usage error, already printed).  The table contains SERVICE_OPTIONS.  Once a process; config is
 * freed with option_done(), by this function when it returns false.  program is borrowed for ever.
 *
 * What a table of options cannot check the service checks next, and refuses to start: nothing has
 * been logged by then, so that the reason is the one line that somebody at a terminal sees.  Then
 * it logs its configuration, option_dump(), and from there on every failure is service_fail()'s.
 */
bool service_start(const char *program, const char *usage, const struct option *table, void *config,
    int argc, char **argv, int *ret_status);

/* The error as one plain line on stderr; gives the exit status. */
int service_refuse(const struct err *err);

/* The rows that every service has: log-level, log-format. For use inside a table; level and format
 * are offsets of two int members. */
#define SERVICE_OPTIONS(level_offset, format_offset)                                               \
	{"log-level", OPT_CHOICE, level_offset, "info", "How much to log", 0, 0, 0,                \
	    "error|warn|info|debug", NULL},                                                        \
	{                                                                                          \
		"log-format", OPT_CHOICE, format_offset, "logfmt", "How to log", 0, 0, 0,          \
		    "logfmt|json", NULL                                                            \
	}

/* SIGTERM or SIGINT came, or service_stop() was called. Any thread. A second signal exits at once,
 * with status 1. The service manager is told (notify.h). */
bool service_stopping(void);
void service_stop(void);

/* Readable once stopping; for poll(2) and event loops. Never read it. */
int service_stop_fd(void);

/* Wait at most ms, or until stopping. True when stopping. */
bool service_wait(int64_t ms);

/* A fatal error from any thread: the first one is logged, stops the service and gives the exit
 * status of service_status(). */
void service_fail(const struct err *err);
int service_status(void);

/* The end of a service, when nothing runs any longer: says so in the log. The exit status. */
int service_stopped(void);

/* "<host>:<pid>:<nonce>": who holds a lease. malloc'd. */
char *service_instance(void);

#endif
