/*
 * listening.h - sockets that share one address, one for each event loop (SO_REUSEPORT).
 */
#ifndef UMAVEZ_LISTENING_H
#define UMAVEZ_LISTENING_H

#include "common/err.h"

/*
 * n sockets, non-blocking, listening on endpoint ("host:port", as option_endpoint() takes it). With
 * port 0 the system chooses one for all of them.  ERR_FATAL: the address cannot be had.
 */
int listening_open(const char *endpoint, int n, int *ret_fds, struct err *err) warn_unused;

/* The port of such a socket. */
int listening_port(int fd);

#endif
