#include "tests/producer/raw.h"

#include "tests/producer/deliver.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/http.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void bytes_add(struct bytes *b, const char *text, size_t len)
{
	b->at = realloc(b->at, b->len + len + 1);
	if (!b->at)
		die("out of memory");
	memcpy(b->at + b->len, text, len);
	b->len += len;
	b->at[b->len] = '\0';
}

static void add_filling(struct bytes *b)
{
	for (int i = 0; i < 20; i++) {
		char kib[1024];
		memset(kib, 'f', sizeof(kib));
		bytes_add(b, kib, sizeof(kib));
	}
}

static void add_token(struct bytes *b, char token, const char *event)
{
	size_t len = strlen(event);
	char *text = NULL, *signature;

	switch (token) {
	case 'P':
		text = strdup("POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\n");
		break;
	case 'S':
		signature = sign_stripe(SIGNER_STRIPE_SECRET, time(NULL), event, len);
		text = text_format("Stripe-Signature: %s\r\n", signature);
		free(signature);
		break;
	case 'E':
		text = strdup(event);
		break;
	case 'L':
		text = text_format("%zu", len);
		break;
	case 'X':
		text = text_format("%zX", len);
		break;
	case '0':
		bytes_add(b, "", 1);
		return;
	case 'F':
		add_filling(b);
		return;
	default:
		die("no such token: %c", token);
	}
	bytes_add(b, text, strlen(text));
	free(text);
}

struct bytes raw_expand(const char *text, const char *id)
{
	char *event = deliver_event(id, id);
	struct bytes b = {NULL, 0};

	for (; *text; text++) {
		if (*text == '$')
			add_token(&b, *++text, event);
		else
			bytes_add(&b, text, 1);
	}
	free(event);
	return b;
}

static int connect_to(const char *url)
{
	const struct timeval patience = {5, 0};
	const int on = 1;
	int fd = http_connect(url);

	CHECK(fd >= 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

char *raw_exchange(const char *url, const struct bytes *b, size_t piece, bool end)
{
	struct bytes got = {NULL, 0};
	int fd = connect_to(url);
	char buf[4096];
	ssize_t n;

	for (size_t at = 0; at < b->len; at += piece) {
		size_t len = b->len - at < piece ? b->len - at : piece;
		CHECK(send(fd, b->at + at, len, MSG_NOSIGNAL) == (ssize_t)len);
	}
	if (end)
		CHECK(shutdown(fd, SHUT_WR) == 0);
	bytes_add(&got, "", 0);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		bytes_add(&got, buf, (size_t)n);
	CHECK_INT(n, 0);
	close(fd);
	return got.at;
}
