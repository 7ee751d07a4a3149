#include "common/hex.h"

#include <openssl/evp.h>
#include <stdlib.h>

char *hex_format(const void *bytes, size_t len, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = bytes;

	for (size_t i = 0; i < len; i++) {
		ret_hex[2 * i] = digits[from[i] >> 4];
		ret_hex[2 * i + 1] = digits[from[i] & 15];
	}
	ret_hex[2 * len] = '\0';
	return ret_hex;
}

char *hex_sha256(const void *bytes, size_t len, char ret_hex[HEX_SHA256_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int size = 0;

	if (!EVP_Digest(bytes, len, digest, &size, EVP_sha256(), NULL))
		abort(); /* SHA-256 without keys fails only for want of memory */
	return hex_format(digest, size, ret_hex);
}
