/*
 * peer_probe NAME INSERT [COUNT] - the timing of a contestant that is written in another language:
 * commits messages by INSERT, and prints the line of measure.  What the parameters are is said in
 * probe.h.
 */
#include "tests/bench/peers/probe.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct peer_result result = {0};
	struct peer p;

	peer_read_environment(&p);
	if (argc < 3 || p.mode == PEER_DRAIN || (p.mode == PEER_ENQUEUE) != (argc == 4)) {
		fprintf(stderr, "usage: peer_probe NAME INSERT [COUNT]\n");
		return 2;
	}
	if (p.mode == PEER_ENQUEUE) {
		probe_enqueue(&p, argv[2], argv[3], &result);
	} else {
		probe_latency(&p, argv[2], &result);
		peer_ledger(&p, &result);
	}
	return peer_print(argv[1], &p, &result);
}
