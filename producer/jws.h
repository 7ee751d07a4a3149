/*
 * jws.h - reading a compact JWS (RFC 7515, section 7.1), and Apple's kind of one.
 *
 * What selects the algorithm or the key is never left to the token or to a library: jws_read()
 * takes exactly ES256 and exactly three certificates, and each jws_verify_…() knows one algorithm
 * (RFC 7518, section 3.1) and is given the one key that a chain of certificates or a kid led to.
 */
#ifndef UMAVEZ_JWS_H
#define UMAVEZ_JWS_H

#include "producer/base64.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>

/* A compact JWS cut at its dots. The parts point into the text that was cut. */
struct jws_parts {
	const char *header, *payload, *signature;
	size_t header_len, payload_len, signature_len;
};

/* False unless there are exactly three parts and the first two are not empty. */
bool jws_split(const char *text, size_t len, struct jws_parts *ret_parts);

/* x5c: leaf, intermediate, root. The third is carried along only to be counted. */
#define JWS_CERTIFICATES 3

/* A DER certificate of Apple's has about 1 KiB; what is longer is none. */
#define JWS_MAX_CERTIFICATE 4096

/* r and s, 32 bytes each (RFC 7518, section 3.4). */
#define JWS_ES256_SIGNATURE 64

struct jws_certificate {
	unsigned char *der;
	size_t len;
};

/* Well-formed, and nothing more: not yet verified. */
struct jws {
	struct jws_parts parts;
	struct jws_certificate x5c[JWS_CERTIFICATES];
	unsigned char signature[JWS_ES256_SIGNATURE];
	unsigned char *payload; /* decoded, NUL-terminated */
	size_t payload_len;
};

/*
 * Read a JWS whose protected header says alg ES256 and brings three certificates in x5c (RFC 7515,
 * section 4.1.6), with a signature of 64 bytes.  Other members of the header are ignored, as the
 * RFC wants, except crit, which forbids that.  NULL, and *ret_why (a sentence, static), if it is
 * not such a one.  text is borrowed until jws_free().
 */
struct jws *jws_read(const char *text, size_t len, const char **ret_why);
void jws_free(struct jws *jws); /* NULL is fine */

/*
 * Has the holder of this key signed header and payload?  The key is of P-256 for ES256 (whoever has
 * checked its certificate knows), and RSA for RS256; one of another kind has signed nothing.
 */
bool jws_verify_es256(const struct jws *jws, EVP_PKEY *key);
bool jws_verify_rs256(const struct jws_parts *parts, EVP_PKEY *key);

#endif
