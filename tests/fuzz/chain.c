/*
 * Certificates of x5c.  The first byte chooses a genuine pair and whether what follows is edits of
 * the leaf, edits of the intermediate, or one of them whole.
 */
#include "producer/chain.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define DIR "apple/x509_chain_cases/"
#define AT_S INT64_C(1761962975)

struct der {
	unsigned char *bytes;
	size_t len;
};

struct genuine {
	struct trust *trust;
	struct der leaf, intermediate;
};

static struct der read_der(const char *path)
{
	struct der der;

	der.bytes = (unsigned char *)fuzz_vector(path, &der.len);
	return der;
}

static void open_genuine(struct genuine *g, const char *root, const char *leaf, const char *other)
{
	struct err err;

	FUZZ_CHECK(trust_new(&root, 1, &g->trust, &err) == 0);
	g->leaf = read_der(leaf);
	g->intermediate = read_der(other);
}

static const struct genuine *open_all(void)
{
	static struct genuine all[2];

	if (all[0].trust)
		return all;
	open_genuine(&all[0], UMAVEZ_SOURCE_DIR "/tests/vectors/" DIR "root_ca.der",
	    DIR "leaf_cert.der", DIR "intermediate_ca.der");
	open_genuine(&all[1], UMAVEZ_SOURCE_DIR "/tests/vectors/" DIR "real_apple_root.der",
	    DIR "real_apple_signing_certificate.der", DIR "real_apple_intermediate.der");
	return all;
}

static struct chain *verify(const struct genuine *g, struct der leaf, struct der intermediate)
{
	const char *why = NULL;
	struct chain *chain = chain_verify(
	    g->trust, leaf.bytes, leaf.len, intermediate.bytes, intermediate.len, AT_S, &why);

	FUZZ_CHECK(chain || why);
	return chain;
}

static void check_key(const X509 *found, const X509 *expected)
{
	FUZZ_CHECK(EVP_PKEY_eq(X509_get0_pubkey(found), X509_get0_pubkey(expected)) == 1);
	FUZZ_CHECK(
	    X509_NAME_cmp(X509_get_subject_name(found), X509_get_subject_name(expected)) == 0);
}

/* Of the certificates that we have only the genuine ones were signed by their issuers. */
static void check_chain(const struct genuine *g, const struct chain *chain)
{
	struct chain *right = verify(g, g->leaf, g->intermediate);

	FUZZ_CHECK(right && chain->root && chain_valid_at(chain, AT_S));
	check_key(chain->leaf, right->leaf);
	check_key(chain->intermediate, right->intermediate);
	FUZZ_CHECK(chain->valid_from_s == right->valid_from_s);
	FUZZ_CHECK(chain->valid_to_s == right->valid_to_s);
	FUZZ_CHECK(!chain_valid_at(chain, chain->valid_to_s));
	chain_unref(right);
}

static struct der changed(struct der from, struct fuzz_piece rest, bool whole)
{
	if (whole)
		return (struct der){fuzz_copy(rest), rest.len};
	return (struct der){fuzz_edit(from.bytes, from.len, rest), from.len};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct genuine *g = open_all();
	struct fuzz_piece rest = {(const char *)data + 1, size - 1};
	struct chain *chain;
	struct der other;

	if (size == 0)
		return 0;
	g += data[0] & 1;
	if (data[0] & 2) {
		other = changed(g->leaf, rest, data[0] & 4);
		chain = verify(g, other, g->intermediate);
	} else {
		other = changed(g->intermediate, rest, data[0] & 4);
		chain = verify(g, g->leaf, other);
	}
	if (chain)
		check_chain(g, chain);
	chain_unref(chain);
	free(other.bytes);
	return 0;
}
