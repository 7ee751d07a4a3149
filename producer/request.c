#include "producer/request.h"

#include <event2/keyvalq_struct.h>
#include <string.h>
#include <strings.h>

/* How often the header is there; *ret_value is the first one's, or NULL. */
static int find_all(struct evhttp_request *req, const char *name, const char **ret_value)
{
	const struct evkeyvalq *headers = evhttp_request_get_input_headers(req);
	const struct evkeyval *header;
	int n = 0;

	*ret_value = NULL;
	for (header = headers->tqh_first; header; header = header->next.tqe_next) {
		if (strcasecmp(header->key, name) == 0 && n++ == 0)
			*ret_value = header->value;
	}
	return n;
}

bool request_headers(struct evhttp_request *req, struct webhook *hook, const char **ret_name)
{
	const struct {
		const char *name;
		const char **value;
	} wanted[] = {{"Authorization", &hook->authorization},
	    {"Stripe-Signature", &hook->stripe_signature},
	    {"X-Goog-Pubsub-Message-Id", &hook->pubsub_message_id}};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (find_all(req, wanted[i].name, wanted[i].value) > 1) {
			*ret_name = wanted[i].name;
			return false;
		}
	}
	return true;
}

void request_trace(struct evhttp_request *req, bool trusted, struct request_trace *ret)
{
	struct traceparent outside, ours;
	const char *text;
	bool valid = find_all(req, "traceparent", &text) == 1 &&
		     traceparent_parse(text, strlen(text), &outside);

	*ret = (struct request_trace){.link = ""};
	if (valid && trusted) {
		traceparent_child(&outside, &ours);
	} else {
		traceparent_new(&ours);
		if (valid)
			traceparent_format(&outside, ret->link);
	}
	traceparent_format(&ours, ret->traceparent);
	memcpy(ret->trace_id, ours.trace_id, sizeof(ret->trace_id));
}
