/*
 * A request's body under a root whose one authentic notification we have; and the payloads of a
 * notification that we sign, cut by the byte 1e: outer (its "@1" and "@2" are replaced by the JWS
 * of the others), transaction, renewal.
 */
#include "producer/app_store.h"
#include "common/memory.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/files.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1767225600123)
#define PIECES 3

struct fixture {
	struct test_ca *ca;
	struct app_store *ours;   /* trusts ca */
	struct app_store *theirs; /* trusts the root of the vectors */
	char *genuine;            /* a JWS of theirs */
};

static struct app_store *open_store(char *root_path)
{
	static char bundle_id[] = "com.example", app_id[] = "41234";
	static char *bundle_ids[] = {bundle_id}, *app_ids[] = {app_id};
	struct app_store_config config = {
	    .bundle_ids = {1, bundle_ids}, .app_ids = {1, app_ids}, .root_files = {1, &root_path}};
	struct app_store *store = NULL;
	struct err err;

	FUZZ_CHECK(app_store_new(&config, &store, &err) == 0);
	return store;
}

static const struct fixture *open_fixture(void)
{
	static struct fixture f;
	static char vectors[] = UMAVEZ_SOURCE_DIR "/tests/vectors/apple/official/certs/testCA.der";
	char dir[] = "/tmp/fuzz.XXXXXX";
	char *path;

	if (f.ca)
		return &f;
	fuzz_fix_random();
	FUZZ_CHECK(mkdtemp(dir));
	path = text_format("%s/root.der", dir);
	f.ca = test_ca_new(NULL);
	test_ca_write_root_der(f.ca, path);
	f.ours = open_store(path);
	f.theirs = open_store(vectors);
	f.genuine = fuzz_vector("apple/official/mock_signed_data/testNotification", NULL);
	f.genuine[strcspn(f.genuine, "\n")] = '\0';
	tree_remove(dir);
	free(path);
	return &f;
}

static enum verdict read_body(struct app_store *store, const void *body, size_t len)
{
	struct webhook hook = {.body = body, .len = len, .now_ms = NOW_MS};
	struct notification *n = NULL;
	struct refusal refusal = {NULL, NULL};
	enum verdict verdict = app_store_read(store, &hook, &n, &refusal);

	if (verdict == VERDICT_AUTHENTIC)
		fuzz_check_notification(n);
	else
		FUZZ_CHECK(!n && refusal.reason && refusal.detail &&
			   (verdict == VERDICT_FORGED || verdict == VERDICT_MALFORMED));
	notification_free(n);
	return verdict;
}

static enum verdict read_jws(struct app_store *store, const char *jws)
{
	char *body = text_format("{\"signedPayload\":\"%s\"}", jws);
	enum verdict verdict = read_body(store, body, strlen(body));

	free(body);
	return verdict;
}

/* What they have not signed is not authentic. */
static void check_raw(const struct fixture *f, const uint8_t *data, size_t size)
{
	const char *last_dot = strrchr(f->genuine, '.');

	if (read_body(f->theirs, data, size) == VERDICT_AUTHENTIC)
		FUZZ_CHECK(memmem(data, size, f->genuine, (size_t)(last_dot - f->genuine)));
	FUZZ_CHECK(read_body(f->ours, data, size) != VERDICT_AUTHENTIC);
}

static char *sign(const struct fixture *f, struct fuzz_piece payload)
{
	char *header = test_jws_header(f->ca, "ES256", "");
	char *jws = test_jws_as(f->ca, header, payload.at, payload.len, SIGNATURE_RAW);

	free(header);
	return jws;
}

/* outer with the first mark replaced by a JWS of inner. */
static struct fuzz_piece fill_in(
    const struct fixture *f, struct fuzz_piece outer, const char *mark, struct fuzz_piece inner)
{
	const char *at = memmem(outer.at, outer.len, mark, 2);
	char *jws = inner.len > 0 && at ? sign(f, inner) : mem_strdup("");
	size_t before = at ? (size_t)(at - outer.at) : outer.len, len = strlen(jws);
	char *filled = mem_alloc(outer.len + len + 1);

	memcpy(filled, outer.at, before);
	memcpy(filled + before, jws, len);
	if (at)
		memcpy(filled + before + len, at + 2, outer.len - before - 2);
	free(jws);
	free((char *)outer.at);
	return (struct fuzz_piece){filled, outer.len + len - (at ? 2 : 0)};
}

/* What is signed and says whom it is for is authentic; with another payload in its place it is not,
 * nor for whoever trusts another root. */
static void check_signed(const struct fixture *f, struct fuzz_piece rest)
{
	struct fuzz_piece piece[PIECES] = {{"", 0}, {"", 0}, {"", 0}}, outer;
	char *jws, *payload;

	for (int i = 0; i < PIECES; i++)
		fuzz_cut(&rest, 0x1e, &piece[i]);
	outer = (struct fuzz_piece){fuzz_copy(piece[0]), piece[0].len};
	outer = fill_in(f, outer, "@1", piece[1]);
	outer = fill_in(f, outer, "@2", piece[2]);
	jws = sign(f, outer);
	if (read_jws(f->ours, jws) == VERDICT_AUTHENTIC) {
		FUZZ_CHECK(memmem(outer.at, outer.len, "com", 3));
		FUZZ_CHECK(read_jws(f->theirs, jws) != VERDICT_AUTHENTIC);
		payload = strchr(jws, '.') + 1;
		payload[0] = payload[0] == 'e' ? 'f' : 'e';
		FUZZ_CHECK(read_jws(f->ours, jws) != VERDICT_AUTHENTIC);
	}
	free(jws);
	free((char *)outer.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fixture *f = open_fixture();

	check_raw(f, data, size);
	if (size > 0 && size < 16384)
		check_signed(f, (struct fuzz_piece){(const char *)data, size});
	return 0;
}
