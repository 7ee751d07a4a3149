#include "tests/producer/deliver.h"

#include "tests/support/die.h"
#include "tests/support/pause.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

char *deliver_event(const char *id, const char *subscription)
{
	char *object = text_format(
	    "{\"id\":\"%s\",\"object\":\"subscription\",\"status\":\"active\",\"customer\":\"cus_"
	    "1\","
	    "\"cancel_at_period_end\":false,\"items\":{\"object\":\"list\",\"data\":[]}}",
	    subscription);
	char *event = stripe_event(id, "customer.subscription.updated", 1, time(NULL), object);

	free(object);
	return event;
}

char *deliver_request(const char *id, const char *subscription, const char *more)
{
	char *event = deliver_event(id, subscription);
	char *signature = sign_stripe(SIGNER_STRIPE_SECRET, time(NULL), event, strlen(event));
	char *request = text_format("POST /webhooks/stripe HTTP/1.1\r\n"
				    "Host: localhost\r\n"
				    "Content-Type: application/json\r\n"
				    "Content-Length: %zu\r\n"
				    "Stripe-Signature: %s\r\n"
				    "%s\r\n%s",
	    strlen(event), signature, more, event);

	free(signature);
	free(event);
	return request;
}

int deliver(const char *url, const char *id, const char *subscription, char **ret_body)
{
	char *event = deliver_event(id, subscription);
	int status = post_stripe(url, event, ret_body);

	free(event);
	return status;
}

static void *run(void *arg)
{
	struct delivery *d = arg;
	int64_t started = now_ms();

	d->status = deliver(d->url, d->id, d->subscription, NULL);
	d->ms = now_ms() - started;
	return NULL;
}

void delivery_start(struct delivery *d, const char *url, const char *id, const char *subscription)
{
	*d = (struct delivery){.url = url};
	snprintf(d->id, sizeof(d->id), "%s", id);
	snprintf(d->subscription, sizeof(d->subscription), "%s", subscription);
	if (pthread_create(&d->thread, NULL, run, d) != 0)
		die("cannot start a thread");
}

void delivery_join(struct delivery *d)
{
	pthread_join(d->thread, NULL);
}
