#include "producer/ocsp_message.h"

#include "producer/trust.h"

#include <openssl/ocsp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* Between the responder's clock and ours. */
#define LEEWAY_S 300

/* How long an answer holds at most, and when it does not say how long. */
#define MAX_HOLD_S INT64_C(86400)
#define DEFAULT_HOLD_S 3600

/* SHA-1, since every responder knows it (RFC 5019, section 2.1.1); it only names the issuer. */
static OCSP_CERTID *name_subject(const struct ocsp_subject *subject)
{
	OCSP_CERTID *id = OCSP_cert_to_id(EVP_sha1(), subject->cert, subject->issuer);

	if (!id)
		abort();
	return id;
}

unsigned char *ocsp_request_write(const struct ocsp_subject *subject, size_t *ret_len)
{
	OCSP_REQUEST *request = OCSP_REQUEST_new();
	unsigned char *der = NULL;
	int len;

	/* The request owns the id from here on. */
	if (!request || !OCSP_request_add0_id(request, name_subject(subject)))
		abort();
	len = i2d_OCSP_REQUEST(request, &der);
	if (len <= 0)
		abort();
	OCSP_REQUEST_free(request);
	*ret_len = (size_t)len;
	return der;
}

/* Signed by the issuer, or by a certificate that the issuer marked for it. */
static bool is_signed(const struct ocsp_subject *subject, OCSP_BASICRESP *basic, int64_t now_s)
{
	X509_STORE *store = X509_STORE_new();
	STACK_OF(X509) *path = sk_X509_new_null();
	bool ok;

	if (!store || !path || !X509_STORE_add_cert(store, subject->root) ||
	    !sk_X509_push(path, subject->issuer))
		abort();
	X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store), (time_t)now_s);
	ok = OCSP_basic_verify(basic, path, store, 0) == 1;
	sk_X509_free(path);
	X509_STORE_free(store);
	return ok;
}

/* The second up to which an answer of this age holds; false if it is not current. */
static bool hold_until(const ASN1_GENERALIZEDTIME *this_update,
    const ASN1_GENERALIZEDTIME *next_update, int64_t now_s, int64_t *ret_until_s)
{
	int64_t from, until = now_s + DEFAULT_HOLD_S;

	if (!this_update || !trust_seconds(this_update, &from) || from > now_s + LEEWAY_S)
		return false;
	if (next_update && !trust_seconds(next_update, &until))
		return false;
	if (until + LEEWAY_S <= now_s)
		return false;
	*ret_until_s = until < now_s + MAX_HOLD_S ? until : now_s + MAX_HOLD_S;
	return true;
}

static enum revocation read_status(
    const struct ocsp_subject *subject, OCSP_BASICRESP *basic, int64_t now_s, int64_t *ret_until_ms)
{
	ASN1_GENERALIZEDTIME *this_update = NULL, *next_update = NULL;
	OCSP_CERTID *id = name_subject(subject);
	int64_t until_s = 0;
	int status = V_OCSP_CERTSTATUS_UNKNOWN;
	bool found =
	    OCSP_resp_find_status(basic, id, &status, NULL, NULL, &this_update, &next_update);

	OCSP_CERTID_free(id);
	if (!found || status == V_OCSP_CERTSTATUS_UNKNOWN ||
	    !hold_until(this_update, next_update, now_s, &until_s))
		return REVOCATION_UNKNOWN;
	*ret_until_ms = until_s * 1000;
	return status == V_OCSP_CERTSTATUS_GOOD ? REVOCATION_NONE : REVOCATION_REVOKED;
}

enum revocation ocsp_response_read(const struct ocsp_subject *subject, const void *der, size_t len,
    int64_t now_ms, int64_t *ret_until_ms)
{
	const unsigned char *p = der;
	OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &p, (long)len);
	OCSP_BASICRESP *basic = NULL;
	enum revocation revocation = REVOCATION_UNKNOWN;

	if (response && OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL)
		basic = OCSP_response_get1_basic(response);
	if (basic && is_signed(subject, basic, now_ms / 1000))
		revocation = read_status(subject, basic, now_ms / 1000, ret_until_ms);
	OCSP_BASICRESP_free(basic);
	OCSP_RESPONSE_free(response);
	return revocation;
}
