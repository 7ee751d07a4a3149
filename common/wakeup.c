#include "common/wakeup.h"

#include <endian.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BITS 64

uint64_t wakeup_of(const char *subject, unsigned shards)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	uint32_t start;

	if (shards == 0)
		return WAKEUP_ANY;
	if (!EVP_Digest(subject, strlen(subject), digest, NULL, EVP_sha256(), NULL))
		abort();
	memcpy(&start, digest, sizeof(start));
	return UINT64_C(1) << (be32toh(start) % shards % BITS);
}

const char *wakeup_command(uint64_t where, char buf[WAKEUP_SIZE])
{
	if (where == WAKEUP_ANY)
		snprintf(buf, WAKEUP_SIZE, "NOTIFY umavez_outbox");
	else
		snprintf(buf, WAKEUP_SIZE, "NOTIFY umavez_outbox, '%" PRIx64 "'", where);
	return buf;
}

bool wakeup_concerns(const char *payload, unsigned shard)
{
	char *end;
	uint64_t where = strtoull(payload, &end, 16);

	return end == payload || *end || (where >> shard % BITS & 1);
}
