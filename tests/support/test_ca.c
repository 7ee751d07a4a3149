#include "tests/support/test_ca.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <openssl/ec.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#define MARKER_LEAF "1.2.840.113635.100.6.11.1"
#define MARKER_INTERMEDIATE "1.2.840.113635.100.6.2.1"

#define YEAR_2020 1577836800
#define YEAR_2060 2840140800

struct identity {
	X509 *cert;
	EVP_PKEY *key;
};

struct test_ca {
	struct identity root, intermediate, leaf;
};

/* How a certificate differs from its siblings. */
struct shape {
	const char *name, *marker, *ocsp_url, *curve;
	bool ca, no_constraints;
	int64_t from, to;
};

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			die("test_ca.c:%d: %s", __LINE__, #condition);                             \
	} while (0)

static void add_text_extension(X509 *cert, int nid, const char *value)
{
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	MUST(ext && X509_add_ext(cert, ext, -1));
	X509_EXTENSION_free(ext);
}

/* Apple's markers hold an ASN.1 NULL. */
static void add_marker(X509 *cert, const char *oid)
{
	static const unsigned char null[] = {0x05, 0x00};
	ASN1_OBJECT *object = OBJ_txt2obj(oid, 1);
	ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
	X509_EXTENSION *ext;

	MUST(object && value && ASN1_OCTET_STRING_set(value, null, sizeof(null)));
	ext = X509_EXTENSION_create_by_OBJ(NULL, object, 0, value);
	MUST(ext && X509_add_ext(cert, ext, -1));
	X509_EXTENSION_free(ext);
	ASN1_OCTET_STRING_free(value);
	ASN1_OBJECT_free(object);
}

static void add_extensions(X509 *cert, const struct shape *shape)
{
	if (!shape->no_constraints)
		add_text_extension(cert, NID_basic_constraints,
		    shape->ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
	add_text_extension(cert, NID_key_usage,
	    shape->ca ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
	if (shape->ocsp_url) {
		char *access = text_format("OCSP;URI:%s", shape->ocsp_url);

		add_text_extension(cert, NID_info_access, access);
		free(access);
	}
	if (shape->marker)
		add_marker(cert, shape->marker);
}

static void set_name_and_serial(X509 *cert, const char *name)
{
	ASN1_INTEGER *serial = X509_get_serialNumber(cert);
	BIGNUM *random = BN_new();

	MUST(random && BN_rand(random, 120, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY));
	MUST(BN_to_ASN1_INTEGER(random, serial));
	BN_free(random);
	MUST(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
	    (const unsigned char *)name, -1, -1, 0));
}

/* issuer NULL: signed by itself. */
static struct identity issue(const struct shape *shape, const struct identity *issuer)
{
	struct identity made = {X509_new(), EVP_EC_gen(shape->curve ? shape->curve : "P-256")};
	const struct identity *by = issuer ? issuer : &made;
	int64_t from = shape->from ? shape->from : YEAR_2020;
	int64_t to = shape->to ? shape->to : YEAR_2060;

	MUST(made.cert && made.key && X509_set_version(made.cert, X509_VERSION_3));
	set_name_and_serial(made.cert, shape->name);
	MUST(X509_set_issuer_name(made.cert, X509_get_subject_name(by->cert)));
	MUST(ASN1_TIME_set(X509_getm_notBefore(made.cert), from));
	MUST(ASN1_TIME_set(X509_getm_notAfter(made.cert), to));
	MUST(X509_set_pubkey(made.cert, made.key));
	add_extensions(made.cert, shape);
	MUST(X509_sign(made.cert, by->key, EVP_sha256()) > 0);
	return made;
}

static struct identity share(const struct identity *id)
{
	MUST(X509_up_ref(id->cert) && EVP_PKEY_up_ref(id->key));
	return *id;
}

static void issue_leaf(struct test_ca *ca, const struct test_ca_spec *spec)
{
	struct shape shape = {
	    .name = "Test Receipt Signing",
	    .marker = spec->no_leaf_marker ? NULL : MARKER_LEAF,
	    .ocsp_url = spec->ocsp_url,
	    .curve = spec->leaf_p384 ? "P-384" : NULL,
	    .from = spec->leaf_from,
	    .to = spec->leaf_to,
	};

	ca->leaf = issue(&shape, &ca->intermediate);
}

static void issue_branch(struct test_ca *ca, const struct test_ca_spec *spec)
{
	struct shape shape = {
	    .name = "Test Developer Relations",
	    .marker = spec->no_intermediate_marker ? NULL : MARKER_INTERMEDIATE,
	    .ocsp_url = spec->ocsp_url,
	    .ca = !spec->intermediate_is_no_ca,
	    .no_constraints = spec->intermediate_is_ca_by_usage,
	    .from = spec->intermediate_from,
	    .to = spec->intermediate_to,
	};

	ca->intermediate = issue(&shape, &ca->root);
	issue_leaf(ca, spec);
}

static const struct test_ca_spec as_apple;

static struct test_ca *allocate(void)
{
	struct test_ca *ca = calloc(1, sizeof(*ca));

	MUST(ca);
	return ca;
}

struct test_ca *test_ca_new(const struct test_ca_spec *spec)
{
	struct test_ca *ca = allocate();
	struct shape shape = {.name = "Test Root", .ca = true};

	if (!spec)
		spec = &as_apple;
	if (spec->root_name)
		shape.name = spec->root_name;
	shape.from = spec->root_from;
	shape.to = spec->root_to;
	if (spec->no_intermediate)
		shape.marker = MARKER_INTERMEDIATE;
	ca->root = issue(&shape, NULL);
	if (spec->no_intermediate) {
		ca->intermediate = share(&ca->root);
		issue_leaf(ca, spec);
	} else {
		issue_branch(ca, spec);
	}
	return ca;
}

struct test_ca *test_ca_new_leaf(const struct test_ca *ca, const struct test_ca_spec *spec)
{
	struct test_ca *made = allocate();

	made->root = share(&ca->root);
	made->intermediate = share(&ca->intermediate);
	issue_leaf(made, spec ? spec : &as_apple);
	return made;
}

struct test_ca *test_ca_new_branch(const struct test_ca *ca, const struct test_ca_spec *spec)
{
	struct test_ca *made = allocate();

	made->root = share(&ca->root);
	issue_branch(made, spec ? spec : &as_apple);
	return made;
}

static void identity_done(struct identity *id)
{
	X509_free(id->cert);
	EVP_PKEY_free(id->key);
}

void test_ca_free(struct test_ca *ca)
{
	if (!ca)
		return;
	identity_done(&ca->root);
	identity_done(&ca->intermediate);
	identity_done(&ca->leaf);
	free(ca);
}

X509 *test_ca_root(const struct test_ca *ca)
{
	return ca->root.cert;
}

X509 *test_ca_intermediate(const struct test_ca *ca)
{
	return ca->intermediate.cert;
}

X509 *test_ca_leaf(const struct test_ca *ca)
{
	return ca->leaf.cert;
}

EVP_PKEY *test_ca_leaf_key(const struct test_ca *ca)
{
	return ca->leaf.key;
}

void test_ca_write_root_pem(const struct test_ca *ca, const char *path)
{
	FILE *file = fopen(path, "w");

	MUST(file && PEM_write_X509(file, ca->root.cert) && fclose(file) == 0);
}

void test_ca_write_root_der(const struct test_ca *ca, const char *path)
{
	FILE *file = fopen(path, "w");

	MUST(file && i2d_X509_fp(file, ca->root.cert) && fclose(file) == 0);
}

/* Who issued the certificate that id names. */
static const struct identity *issuer_of(const struct test_ca *ca, OCSP_CERTID *id)
{
	const struct identity *issuer = &ca->root;
	OCSP_CERTID *leaf_id = OCSP_cert_to_id(NULL, ca->leaf.cert, ca->intermediate.cert);

	MUST(leaf_id);
	if (OCSP_id_cmp(leaf_id, id) == 0)
		issuer = &ca->intermediate;
	OCSP_CERTID_free(leaf_id);
	return issuer;
}

void *test_ca_ocsp_answer(const struct test_ca *ca, const void *request, size_t len, int status,
    int64_t this_update, int64_t next_update, size_t *ret_len)
{
	const unsigned char *p = request;
	OCSP_REQUEST *asked = d2i_OCSP_REQUEST(NULL, &p, (long)len);
	OCSP_BASICRESP *basic = OCSP_BASICRESP_new();
	ASN1_TIME *from = ASN1_GENERALIZEDTIME_set(NULL, this_update);
	ASN1_TIME *to = next_update ? ASN1_GENERALIZEDTIME_set(NULL, next_update) : NULL;
	OCSP_RESPONSE *answer;
	unsigned char *der = NULL;
	const struct identity *issuer;
	OCSP_CERTID *id;

	MUST(asked && basic && from && OCSP_request_onereq_count(asked) == 1);
	id = OCSP_onereq_get0_id(OCSP_request_onereq_get0(asked, 0));
	issuer = issuer_of(ca, id);
	MUST(OCSP_basic_add1_status(basic, id, status, OCSP_REVOKED_STATUS_NOSTATUS,
	    status == V_OCSP_CERTSTATUS_REVOKED ? from : NULL, from, to));
	MUST(OCSP_basic_sign(basic, issuer->cert, issuer->key, EVP_sha256(), NULL, 0));
	answer = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
	MUST(answer);
	*ret_len = (size_t)i2d_OCSP_RESPONSE(answer, &der);
	OCSP_RESPONSE_free(answer);
	OCSP_BASICRESP_free(basic);
	OCSP_REQUEST_free(asked);
	ASN1_TIME_free(from);
	ASN1_TIME_free(to);
	return der;
}
