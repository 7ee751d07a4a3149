/*
 * ocsp_message.h - what is asked of an OCSP responder, and what its answer is worth (RFC 6960).
 *
 * Bytes in, verdict out.
 */
#ifndef UMAVEZ_OCSP_MESSAGE_H
#define UMAVEZ_OCSP_MESSAGE_H

#include <openssl/x509.h>
#include <stddef.h>
#include <stdint.h>

enum revocation {
	REVOCATION_NONE,    /* not revoked */
	REVOCATION_REVOKED, /* never to be trusted again */
	REVOCATION_PENDING, /* being asked */
	REVOCATION_UNKNOWN, /* no answer that could be believed */
};

/* One certificate of a verified chain, who issued it, and the root that both lead to. For an
 * intermediate, issuer is the root. All borrowed. */
struct ocsp_subject {
	X509 *cert, *issuer, *root;
};

/* The DER request about it, malloc'd. No nonce: Apple's responders answer from a cache. */
unsigned char *ocsp_request_write(const struct ocsp_subject *subject, size_t *ret_len);

/*
 * What a DER response says: signed by the issuer or by whom it delegated, about this certificate,
 * and current at now_ms.  REVOCATION_NONE or _REVOKED with *ret_until_ms, the time up to which it
 * holds (at most a day ahead); or REVOCATION_UNKNOWN.
 */
enum revocation ocsp_response_read(const struct ocsp_subject *subject, const void *der, size_t len,
    int64_t now_ms, int64_t *ret_until_ms);

#endif
