/*
 * netns.h - machines for services to run on: network namespaces, all on one bridge.
 *
 * The bridge is in a namespace of our own, and so are the names of the others: the network of the
 * machine is not touched, and nothing is left of all this when the last process in it has ended.
 */
#ifndef UMAVEZ_BENCH_NETNS_H
#define UMAVEZ_BENCH_NETNS_H

#define NETNS_HUB "10.99.0.1" /* where the servers are, and we */
#define NETNS_SUBNET "10.99.0.0/24"
#define NETNS_MAX 200

struct netns {
	char name[16], address[24];
	const char *wrapper[5]; /* for world_wrap(): what runs there begins with these words */
};

/* Move there, before any thread or server is started.  Ends the program, and says why, if it may
 * not: that takes root. */
void netns_enter(void);

/* Number i, 1 to NETNS_MAX.  *ret stays where it is: its wrapper refers to it. */
void netns_add(int i, struct netns *ret);

#endif
