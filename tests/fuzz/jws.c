/* A compact JWS; or, if it begins with a brace, the JSON of a header that we encode. */
#include "producer/jws.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

static void check_same(const void *bytes, size_t len, const char *text, size_t text_len)
{
	char *again = test_base64url(bytes, len);

	FUZZ_CHECK(strlen(again) == text_len && memcmp(again, text, text_len) == 0);
	free(again);
}

static void check_parts(const struct jws_parts *parts, const char *text, size_t len)
{
	FUZZ_CHECK(parts->header == text && parts->header_len > 0 && parts->payload_len > 0);
	FUZZ_CHECK(parts->payload == text + parts->header_len + 1);
	FUZZ_CHECK(parts->signature == parts->payload + parts->payload_len + 1);
	FUZZ_CHECK(parts->signature + parts->signature_len == text + len);
	FUZZ_CHECK(!memchr(parts->signature, '.', parts->signature_len));
}

/* There is one spelling of what was signed. */
static void check_read(const struct jws *jws, const char *text, size_t len)
{
	check_parts(&jws->parts, text, len);
	check_same(jws->payload, jws->payload_len, jws->parts.payload, jws->parts.payload_len);
	FUZZ_CHECK(jws->payload[jws->payload_len] == '\0');
	FUZZ_CHECK(jws->parts.signature_len == 86);
	for (int i = 0; i < JWS_CERTIFICATES; i++)
		FUZZ_CHECK(jws->x5c[i].len > 0 && jws->x5c[i].len <= JWS_MAX_CERTIFICATE);
}

static void check(const char *text, size_t len)
{
	const char *why = NULL;
	struct jws_parts parts;
	struct jws *jws = jws_read(text, len, &why);

	if (jws)
		check_read(jws, text, len);
	else
		FUZZ_CHECK(why);
	if (jws_split(text, len, &parts))
		check_parts(&parts, text, len);
	else
		FUZZ_CHECK(!jws);
	jws_free(jws);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *header, *jws;

	check((const char *)data, size);
	if (size == 0 || data[0] != '{')
		return 0;
	header = test_base64url(data, size);
	jws = text_format("%s.e30.%085dA", header, 0);
	check(jws, strlen(jws));
	free(jws);
	free(header);
	return 0;
}
