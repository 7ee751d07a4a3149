/*
 * chain_fixture.h - what the tests of certificate chains share: whom to trust, and certificates as
 * bytes.
 */
#ifndef UMAVEZ_TESTS_CHAIN_FIXTURE_H
#define UMAVEZ_TESTS_CHAIN_FIXTURE_H

#include "producer/jws.h"
#include "producer/trust.h"
#include "tests/support/test_ca.h"

/* Trust in one root file (NULL: Apple's), or in the root of ca. trust_free() the result; a failure
 * ends the program. */
struct trust *trust_in(const char *path);
struct trust *trust_ca(const struct test_ca *ca);

/* free() what it points to. */
struct jws_certificate der_of(const X509 *cert);

#endif
