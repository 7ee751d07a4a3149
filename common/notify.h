/*
 * notify.h - telling the service manager how far a service is: READY=1, STOPPING=1, STATUS=why.
 *
 * One datagram to the socket that NOTIFY_SOCKET names, a path or "@" and an abstract name; without
 * the variable nobody wants to know.  What cannot be told is not: it changes nothing for the
 * service. Source: sd_notify(3), "Standalone Implementations".
 */
#ifndef UMAVEZ_NOTIFY_H
#define UMAVEZ_NOTIFY_H

#include <stdbool.h>

bool notify_wanted(void);

/* Lines of NAME=value. Never waits. Any thread. */
void notify_tell(const char *lines);

#endif
