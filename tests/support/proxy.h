/*
 * proxy.h - a faulty network between services and one server.
 *
 *   service ──TCP──▶ 127.0.0.1:port ──proxy──▶ the server's unix socket
 *
 * Every connection is a link of two ways, each with a thread of its own in this process.  Faults
 * are set from the test's thread at any moment and concern all links, those made later too unless
 * it says something else.
 */
#ifndef UMAVEZ_TESTS_PROXY_H
#define UMAVEZ_TESTS_PROXY_H

#include <stddef.h>
#include <stdint.h>

struct proxy;

/* What flows through, for proxy_cut_answer() to understand. */
enum proxy_protocol { PROXY_POSTGRES, PROXY_REDIS };

enum proxy_way { PROXY_TO_SERVER = 1, PROXY_TO_CLIENT = 2 };
#define PROXY_BOTH (PROXY_TO_SERVER | PROXY_TO_CLIENT)

/* server: path of a unix socket; nobody needs to listen there yet. Aborts if it cannot listen. */
struct proxy *proxy_open(enum proxy_protocol protocol, const char *server);
void proxy_close(struct proxy *p); /* cuts every link; NULL is fine */

enum proxy_protocol proxy_protocol(const struct proxy *p);
int proxy_port(const struct proxy *p); /* on 127.0.0.1 */

/* For links made from now on. */
void proxy_set_server(struct proxy *p, const char *server);

/* url, which leads to the server's socket, as it leads through the proxy. malloc'd. */
char *proxy_url(const struct proxy *p, const char *url);

/*
 * A network that loses every packet of these ways: bytes, and ends of connections, wait until they
 * are released by another call.  PROXY_BOTH is a black hole, 0 lets everything flow.  Connections
 * are still accepted, as by a server that is stopped.
 */
void proxy_hold(struct proxy *p, unsigned ways);

/* The links that there are go silent for good, as when a firewall has forgotten them. */
void proxy_forget(struct proxy *p);

/* The same for those whose client named itself so, or began so: PostgreSQL's application name,
 * which is in the first packet. Gives their number. */
int proxy_forget_client(struct proxy *p, const char *name);

/* What is read at once goes on this much later. 0: at once. */
void proxy_delay(struct proxy *p, int64_t ms);

/* The links that there are end, in both ways: regularly, or with a reset for the client. */
enum proxy_cut { PROXY_CLOSE, PROXY_RESET };
void proxy_cut(struct proxy *p, enum proxy_cut how);

/* Each link's receiver of this way sees the end of the connection; the other way still flows. */
void proxy_half_close(struct proxy *p, enum proxy_way way);

/* Behind this many more bytes of the way, counted over all links, the link of the last one is cut.
 */
void proxy_cut_after(struct proxy *p, enum proxy_way way, size_t bytes);

/*
 * Once: the next request that `pattern` names and that the server has carried out is not answered.
 * Its link is cut when the end of the answer has come to the proxy, which keeps it to itself.
 *
 * PostgreSQL: a simple query or a Parse that contains the pattern, or a Bind of the prepared
 * statement of that name; carried out is what ends with CommandComplete, outside a transaction
 * (ReadyForQuery 'I') and without an error.  Redis: a command that begins with the pattern, and
 * whose reply is no error.
 */
enum proxy_keep {
	PROXY_KEEP_ALL, /* nothing of the answer goes on */
	PROXY_KEEP_END, /* PostgreSQL: only the last message, ReadyForQuery, does not */
};
void proxy_cut_answer(struct proxy *p, const char *pattern, enum proxy_keep keep);

/* No fault any more for what comes; links that were cut, half-closed or forgotten stay so. */
void proxy_heal(struct proxy *p);

int proxy_answers_cut(struct proxy *p); /* how many times that has happened */
int proxy_links(struct proxy *p);       /* how many there are now */

#endif
