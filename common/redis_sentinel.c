#include "common/memory.h"
#include "common/redis_private.h"
#include "common/redis_url.h"

#include <stdio.h>

/* Host and port; nil for a name that it does not know. */
static int read_address(struct redis *sentinel, const redisReply *reply, const char *name,
    struct redis_address *ret_master, struct err *err)
{
	const char *host, *port;
	char why[128];
	int number;

	if (reply->type == REDIS_REPLY_NIL) {
		snprintf(why, sizeof(why), "it knows no master \"%s\"", name);
		return redis_fail(sentinel, err, "SENTINEL", why);
	}
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
		return redis_fail(sentinel, err, "SENTINEL", "not an address");
	host = redis_text(reply->element[0]);
	port = redis_text(reply->element[1]);
	if (!host || !*host || !port || !redis_port_parse(port, reply->element[1]->len, &number))
		return redis_fail(sentinel, err, "SENTINEL", "not an address");
	*ret_master = (struct redis_address){.host = mem_strdup(host), .port = number};
	return 0;
}

int redis_sentinel_ask(
    struct redis *sentinel, const char *name, struct redis_address *ret_master, struct err *err)
{
	redisReply *reply;
	int rc;

	if (redis_command(sentinel, &reply, err, "SENTINEL GET-MASTER-ADDR-BY-NAME %s", name) < 0)
		return redis_failed_with(sentinel, "ERR unknown command")
			   ? redis_fail(sentinel, err, "SENTINEL",
				 "this is no sentinel; for a server itself use redis://")
			   : -1;
	rc = read_address(sentinel, reply, name, ret_master, err);
	freeReplyObject(reply);
	return rc;
}
