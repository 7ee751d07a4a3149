/*
 * supervise.h - a process that ends only when all that it started is gone, signals or not.
 *
 * Servers and services die with the process that started them, and a janitor removes the directory;
 * but all of that takes a moment.  So the work is done by a child, and this process waits until it
 * has no descendant left.  SIGINT, SIGTERM and SIGHUP end the child, and in the end this process.
 */
#ifndef UMAVEZ_SIMULATE_SUPERVISE_H
#define UMAVEZ_SIMULATE_SUPERVISE_H

#include "common/err.h"

/* work runs in the child; what it returns is *ret_status. Call it before any thread is started. */
int supervise(int (*work)(void *), void *ctx, int *ret_status, struct err *err) warn_unused;

#endif
