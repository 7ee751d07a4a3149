/* An OCSP answer: the first byte chooses a genuine one, which the rest edits, or 'w': the rest. */
#include "producer/ocsp_message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/test_ca.h"

#include <openssl/ocsp.h>
#include <stdlib.h>
#include <string.h>

#define NOW_S INT64_C(1767225600)
#define DAY_S 86400

/* V_OCSP_CERTSTATUS_GOOD, _REVOKED, _UNKNOWN: by number */
#define STATUSES 3

struct fixture {
	struct test_ca *ca;
	struct ocsp_subject subject;
	struct {
		unsigned char *der;
		size_t len;
	} answer[STATUSES];
};

static const struct fixture *open_fixture(void)
{
	static struct fixture f;
	unsigned char *request;
	size_t len;

	if (f.ca)
		return &f;
	fuzz_fix_random();
	f.ca = test_ca_new(NULL);
	f.subject = (struct ocsp_subject){
	    test_ca_leaf(f.ca), test_ca_intermediate(f.ca), test_ca_root(f.ca)};
	request = ocsp_request_write(&f.subject, &len);
	for (int i = 0; i < STATUSES; i++)
		f.answer[i].der = test_ca_ocsp_answer(
		    f.ca, request, len, i, NOW_S - 60, NOW_S + 3 * DAY_S, &f.answer[i].len);
	OPENSSL_free(request);
	return &f;
}

/* The status that is signed in one of the genuine answers, or -1: none of them has these bytes. */
static int genuine_status(const struct fixture *f, const void *signed_bytes, size_t len)
{
	for (int i = 0; i < STATUSES; i++)
		if (memmem(f->answer[i].der, f->answer[i].len, signed_bytes, len))
			return i;
	return 0;
}

static int status_of(const struct fixture *f, const unsigned char *der, size_t len)
{
	OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &der, (long)len);
	OCSP_BASICRESP *basic = response ? OCSP_response_get1_basic(response) : NULL;
	unsigned char *bytes = NULL;
	int n, status;

	FUZZ_CHECK(basic);
	n = i2d_OCSP_RESPDATA((OCSP_RESPDATA *)OCSP_resp_get0_respdata(basic), &bytes);
	FUZZ_CHECK(n > 0);
	status = genuine_status(f, bytes, (size_t)n);
	OPENSSL_free(bytes);
	OCSP_BASICRESP_free(basic);
	OCSP_RESPONSE_free(response);
	return status;
}

static void check(const struct fixture *f, const unsigned char *der, size_t len)
{
	int64_t until_ms = 0;
	enum revocation said = ocsp_response_read(&f->subject, der, len, NOW_S * 1000, &until_ms);
	int status;

	if (said == REVOCATION_UNKNOWN)
		return;
	status = status_of(f, der, len);
	FUZZ_CHECK(status ==
		   (said == REVOCATION_NONE ? V_OCSP_CERTSTATUS_GOOD : V_OCSP_CERTSTATUS_REVOKED));
	FUZZ_CHECK(until_ms > NOW_S * 1000 && until_ms <= (NOW_S + DAY_S) * 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fixture *f = open_fixture();
	struct fuzz_piece rest = {(const char *)data + 1, size - 1};
	unsigned char *der;
	int i;

	if (size == 0)
		return 0;
	if (data[0] == 'w') {
		check(f, data + 1, size - 1);
		return 0;
	}
	i = data[0] % STATUSES;
	der = fuzz_edit(f->answer[i].der, f->answer[i].len, rest);
	check(f, der, f->answer[i].len);
	free(der);
	return 0;
}
