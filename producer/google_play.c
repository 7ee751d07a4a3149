#include "producer/google_play.h"

#include "common/memory.h"
#include "producer/base64.h"
#include "producer/google_notice.h"
#include "producer/json.h"

#include <stdlib.h>
#include <string.h>

struct google_play {
	struct google_play_config config;
};

/* A Pub/Sub message, whatever wrapped it. */
struct message {
	char *id;            /* NULL: none that can be read */
	unsigned char *data; /* NULL: none, and fault says why */
	size_t len;
	const char *fault;
};

int google_play_new(
    const struct google_play_config *config, struct google_play **ret_google, struct err *err)
{
	const struct google_token_rules *rules = &config->rules;
	struct google_play *g;

	if (!rules->audience || !*rules->audience)
		return err_set(err, ERR_USAGE,
		    "--google-audience is missing: a push without authentication is not taken");
	if (!rules->push_account || !*rules->push_account)
		return err_set(err, ERR_USAGE,
		    "--google-push-account is missing: a push of anybody's is not taken");
	g = mem_zalloc(1, sizeof(*g));
	g->config = *config;
	*ret_google = g;
	return 0;
}

void google_play_free(struct google_play *g)
{
	free(g);
}

/* base64 as publishers write it: either alphabet, padded or not. */
static unsigned char *decode_data(const char *text, size_t *ret_len)
{
	size_t len = strlen(text);
	char *url = mem_strdup(text);
	unsigned char *bytes;

	for (int pads = 0; pads < 2 && len > 0 && url[len - 1] == '='; pads++)
		len--;
	for (size_t i = 0; i < len; i++) {
		if (url[i] == '+')
			url[i] = '-';
		else if (url[i] == '/')
			url[i] = '_';
	}
	bytes = base64_decode(url, len, BASE64_URL, ret_len);
	free(url);
	return bytes;
}

/* Both spellings occur, and name one id. */
static void read_id(const json_t *wrapped, struct message *m)
{
	const char *camel = json_get_string(wrapped, "messageId");
	const char *snake = json_get_string(wrapped, "message_id");

	if (camel && snake && strcmp(camel, snake) != 0)
		m->fault = "messageId and message_id differ";
	else if (camel || snake)
		m->id = mem_strdup(camel ? camel : snake);
	else
		m->fault = "it has no message id";
}

static void read_wrapped(const json_t *wrapped, struct message *m)
{
	const char *data = json_get_string(wrapped, "data");

	read_id(wrapped, m);
	if (m->fault)
		return;
	if (!data) {
		m->fault = "the message has no data";
		return;
	}
	m->data = decode_data(data, &m->len);
	if (!m->data)
		m->fault = "the message's data is no base64";
}

/* Wrapped in JSON that json_read() refused. */
static void peek_wrapped(const struct webhook *hook, const char *why, struct message *m)
{
	m->fault = why;
	m->id = json_peek_string(hook->body, hook->len, "message.messageId");
	if (!m->id)
		m->id = json_peek_string(hook->body, hook->len, "message.message_id");
}

/* Unwrapped, with metadata: the body is the data. */
static void read_unwrapped(const struct webhook *hook, struct message *m)
{
	m->id = mem_strdup(hook->pubsub_message_id);
	m->data = mem_alloc(hook->len + 1);
	memcpy(m->data, hook->body, hook->len);
	m->len = hook->len;
}

/* False: unwrapped without metadata. It has no id, so that a second delivery could not be told. */
static bool read_message(const struct webhook *hook, struct message *m)
{
	const char *why;
	json_t *envelope;
	bool is_bare = false;

	if (hook->pubsub_message_id) {
		read_unwrapped(hook, m);
		return true;
	}
	envelope = json_read(hook->body, hook->len, &why);
	if (!envelope)
		peek_wrapped(hook, why, m);
	else if (json_get_object(envelope, "message"))
		read_wrapped(json_get_object(envelope, "message"), m);
	else if (json_get_string(envelope, "packageName"))
		is_bare = true;
	else
		m->fault = "it is no Pub/Sub message";
	json_decref(envelope);
	return !is_bare;
}

static bool is_ours(const struct option_list *packages, const char *package)
{
	return packages->n == 0 || option_list_has(packages, package);
}

static void set_id(struct notification *n, const struct message *m, const char *package)
{
	if (m->id)
		notification_setf(&n->notification_id, "%s/%s", package ? package : "", m->id);
}

/* NULL, or why the message cannot be understood. The id is set wherever it can be read. */
static const char *read_notice(
    const struct google_play *g, const struct message *m, struct notification *n)
{
	const char *why, *package;
	json_t *notice;

	if (m->fault) {
		set_id(n, m, NULL);
		return m->fault;
	}
	notice = json_read(m->data, m->len, &why);
	if (!notice) {
		char *peeked = json_peek_string(m->data, m->len, "packageName");

		set_id(n, m, peeked);
		free(peeked);
		return why;
	}
	package = json_get_string(notice, "packageName");
	set_id(n, m, package);
	why = google_notice_read(notice, n);
	if (package && !is_ours(&g->config.packages, package))
		why = GOOGLE_PLAY_OTHER_PACKAGE;
	json_decref(notice);
	return why;
}

static struct notification *keep(
    const struct google_play *g, const struct webhook *hook, const struct message *m)
{
	struct notification *n = notification_new("google_play", hook->now_ms);
	const char *fault = read_notice(g, m, n);

	if (fault)
		notification_quarantine(n, hook->body, hook->len, fault);
	else
		notification_check(n, hook->body, hook->len);
	return n;
}

static void message_done(struct message *m)
{
	free(m->id);
	free(m->data);
}

struct notification *google_play_reread(
    const struct option_list *packages, const struct webhook *hook)
{
	const struct google_play g = {.config.packages = *packages};
	const struct webhook wrapped = {
	    .body = hook->body, .len = hook->len, .now_ms = hook->now_ms};
	struct message m = {0};
	struct notification *n;

	/* Whether it was wrapped shows in the body alone. */
	if (!read_message(&wrapped, &m))
		(void)read_message(hook, &m);
	n = keep(&g, hook, &m);
	message_done(&m);
	return n;
}

enum verdict google_play_read(void *google, const struct webhook *hook,
    struct notification **ret_notification, struct refusal *ret_refusal)
{
	const struct google_play *g = google;
	struct message m = {0};
	enum verdict verdict;

	verdict = google_token_check(
	    hook->authorization, &g->config.rules, g->config.keys, hook->now_ms, ret_refusal);
	if (verdict != VERDICT_AUTHENTIC)
		return verdict;
	if (!read_message(hook, &m)) {
		ret_refusal->reason = "no_message_id";
		ret_refusal->detail = "The push is unwrapped and has no metadata. Let the push "
				      "subscription write metadata, or wrap.";
		return VERDICT_MALFORMED;
	}
	*ret_notification = keep(g, hook, &m);
	message_done(&m);
	return VERDICT_AUTHENTIC;
}
