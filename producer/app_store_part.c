#include "producer/app_store_part.h"

#include "producer/json.h"
#include "producer/jws.h"

#include <stdio.h>
#include <string.h>

const char *app_store_part_read(int64_t now_ms, const char *text, struct app_store_part *part)
{
	const char *why = NULL;

	part->jws = jws_read(text, strlen(text), &why);
	if (!part->jws)
		return why;
	part->json = json_read(part->jws->payload, part->jws->payload_len, &part->why);
	part->at_ms = now_ms;
	json_get_int(part->json, "signedDate", &part->at_ms);
	return NULL;
}

void app_store_part_done(struct app_store_part *part)
{
	json_decref(part->json);
	jws_free(part->jws);
}

char *app_store_claim(const struct app_store_part *part, const char *path)
{
	if (part->json)
		return json_dup_string(part->json, path);
	return json_peek_string(part->jws->payload, part->jws->payload_len, path);
}

char *app_store_claim_below(const struct app_store_part *part, const char *holder, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s.%s", holder, name);
	return app_store_claim(part, path);
}
