/*
 * port.h - a TCP port on 127.0.0.1 that belongs to one service for as long as a test needs it.
 */
#ifndef UMAVEZ_TESTS_PORT_H
#define UMAVEZ_TESTS_PORT_H

/*
 * A port of the system's choice that stays ours until the returned socket is closed.  The socket is
 * bound and never listens: nobody else is given the port, while a service that sets SO_REUSEADDR
 * can listen on it, again after every crash.
 */
int port_reserve(int *ret_port);

#endif
