#include "tests/bench/netns.h"

#include "tests/support/die.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES "/run/netns" /* where ip netns keeps them */
#define IP_MS 20000

__attribute__((format(printf, 1, 2))) static void ip(const char *fmt, ...)
{
	char words[200], *command;
	va_list args;

	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	command = text_format("exec ip %s", words);
	const char *const argv[] = {"sh", "-c", command, NULL};
	const struct proc_spec spec = {.argv = argv, .out_fd = 1, .err_fd = 2};

	if (proc_run(&spec, IP_MS) != 0)
		die("ip %s: it failed (Debian: apt install iproute2)", words);
	free(command);
}

void netns_enter(void)
{
	if (geteuid() != 0)
		die("network namespaces are made by root only");
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
		die("no network namespace: %s (a container needs CAP_SYS_ADMIN)", strerror(errno));
	if (mkdir(NAMES, 0755) < 0 && errno != EEXIST)
		die("cannot make %s: %s", NAMES, strerror(errno));
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", NAMES, "tmpfs", 0, NULL) < 0)
		die("cannot mount %s: %s", NAMES, strerror(errno));
	ip("link set lo up");
	ip("link add umavez type bridge");
	ip("addr add " NETNS_HUB "/24 dev umavez");
	ip("link set umavez up");
}

void netns_add(int i, struct netns *ret)
{
	snprintf(ret->name, sizeof(ret->name), "umz%d", i);
	snprintf(ret->address, sizeof(ret->address), "10.99.0.%d", i + 1);
	ip("netns add %s", ret->name);
	ip("link add %s type veth peer name eth0 netns %s", ret->name, ret->name);
	ip("link set %s master umavez up", ret->name);
	ip("-n %s addr add %s/24 dev eth0", ret->name, ret->address);
	ip("-n %s link set eth0 up", ret->name);
	ip("-n %s link set lo up", ret->name);
	ret->wrapper[0] = "ip";
	ret->wrapper[1] = "netns";
	ret->wrapper[2] = "exec";
	ret->wrapper[3] = ret->name;
	ret->wrapper[4] = NULL;
}
