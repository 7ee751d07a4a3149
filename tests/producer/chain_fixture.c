#include "tests/producer/chain_fixture.h"

#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <unistd.h>

struct trust *trust_in(const char *path)
{
	struct err err = ERR_INIT;
	struct trust *trust = NULL;

	if (trust_new(&path, path ? 1 : 0, &trust, &err) < 0)
		die("%s", err.message);
	return trust;
}

struct trust *trust_ca(const struct test_ca *ca)
{
	char *path = text_format("%s/umavez-test-chain-%d.pem", temp_root(), (int)getpid());
	struct trust *trust;

	test_ca_write_root_pem(ca, path);
	trust = trust_in(path);
	unlink(path);
	free(path);
	return trust;
}

struct jws_certificate der_of(const X509 *cert)
{
	struct jws_certificate der = {NULL, 0};

	der.len = (size_t)i2d_X509(cert, &der.der);
	return der;
}
