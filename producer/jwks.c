#include "producer/jwks.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/option.h"
#include "producer/json.h"

#include <jose/jwk.h>
#include <jose/openssl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_BYTES (256 * (size_t)1024)
#define TIMEOUT_MS 5000
#define MIN_RSA_BITS 2048

/* How long a set is fresh whose address does not say. */
#define DEFAULT_MAX_AGE_MS 3600000
#define MAX_MAX_AGE_MS 86400000

/* An address that is down is asked again sooner than a cool-down: nobody outside can cause it. */
#define RETRY_MS 5000

/* The usable keys of a set, parsed; never changed once it is made. */
struct key_set {
	size_t n;
	struct key {
		char *kid;
		EVP_PKEY *key;
	} keys[];
};

struct jwks {
	struct jwks_config config; /* its strings are ours */
	char *shown_url;           /* without a password */
	struct fetcher *fetcher;
	pthread_mutex_t lock; /* of all that follows; times are on the clock that never steps */
	struct key_set *keys; /* NULL before the first */
	int64_t fresh_until;  /* ms */
	int64_t
	    refresh_after;   /* ms: the set is not asked for again before, because it is old ... */
	int64_t renew_after; /* ... or because it lacks a kid */
	bool fetching;
	bool failed; /* the last attempt to read the set */
};

static int64_t now_ms(void)
{
	return clock_mono_us() / 1000;
}

static int64_t min_ms(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void key_set_free(struct key_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++) {
		free(set->keys[i].kid);
		EVP_PKEY_free(set->keys[i].key);
	}
	free(set);
}

/* RFC 7517, sections 4.2 to 4.4: what the key is for, as far as it says. */
static bool is_for_tokens(const json_t *jwk)
{
	const char *use = json_get_string(jwk, "use");
	const char *alg = json_get_string(jwk, "alg");

	if ((use && strcmp(use, "sig") != 0) || (alg && strcmp(alg, "RS256") != 0))
		return false;
	return jose_jwk_prm(NULL, jwk, false, "verify");
}

/* NULL: it is not usable. */
static EVP_PKEY *read_key(const json_t *jwk)
{
	const char *type = json_get_string(jwk, "kty");
	EVP_PKEY *key;

	if (!json_get_string(jwk, "kid") || !type || strcmp(type, "RSA") != 0)
		return NULL;
	if (!is_for_tokens(jwk))
		return NULL;
	key = jose_openssl_jwk_to_EVP_PKEY(NULL, jwk);
	if (key && EVP_PKEY_get_bits(key) >= MIN_RSA_BITS)
		return key;
	EVP_PKEY_free(key);
	return NULL;
}

/* The usable keys of a JWK Set, or NULL and why. */
static struct key_set *read_keys(const void *bytes, size_t len, const char **ret_why)
{
	json_t *set = json_read(bytes, len, ret_why), *jwk;
	const json_t *all = json_at(set, "keys");
	struct key_set *usable;
	size_t i;

	if (!set)
		return NULL;
	usable = mem_zalloc(1, sizeof(*usable) + json_array_size(all) * sizeof(usable->keys[0]));
	json_array_foreach (all, i, jwk) {
		EVP_PKEY *key = read_key(jwk);

		if (key)
			usable->keys[usable->n++] =
			    (struct key){mem_strdup(json_get_string(jwk, "kid")), key};
	}
	json_decref(set);
	if (usable->n > 0)
		return usable;
	*ret_why = "it has no RSA key of 2048 bits or more with a kid";
	key_set_free(usable);
	return NULL;
}

/* The next directive of a comma-separated list, without the space around it. */
static const char *next_directive(const char **rest, size_t *ret_len)
{
	const char *start = *rest + strspn(*rest, " \t,");
	size_t len = strcspn(start, ",");

	*rest = start + len;
	while (len > 0 && (start[len - 1] == ' ' || start[len - 1] == '\t'))
		len--;
	*ret_len = len;
	return len > 0 ? start : NULL;
}

static bool is_directive(const char *p, size_t len, const char *name)
{
	return len == strlen(name) && strncasecmp(p, name, len) == 0;
}

int64_t jwks_max_age_ms(const char *header, int64_t fallback_ms)
{
	static const char max_age[] = "max-age=";
	const size_t prefix = sizeof(max_age) - 1;
	const char *rest = header ? header : "";
	int64_t age_ms = fallback_ms;
	const char *p;
	size_t len;

	while ((p = next_directive(&rest, &len))) {
		if (is_directive(p, len, "no-store") || is_directive(p, len, "no-cache"))
			return 0;
		if (len > prefix && len <= prefix + 9 && strncasecmp(p, max_age, prefix) == 0 &&
		    strspn(p + prefix, "0123456789") == len - prefix)
			age_ms = strtol(p + prefix, NULL, 10) * 1000;
	}
	return age_ms;
}

/* Under the lock. Take new keys (owned), fresh for so long; NULL: the attempt failed. */
static void settle(struct jwks *j, struct key_set *keys, int64_t max_age_ms, int64_t now)
{
	j->failed = !keys;
	if (!keys) {
		j->refresh_after = now + min_ms(RETRY_MS, j->config.cooldown_ms);
		return;
	}
	key_set_free(j->keys);
	j->keys = keys;
	/* Not older than a day even where the address says so, nor asked for all the time. */
	j->fresh_until = now + min_ms(max_age_ms, MAX_MAX_AGE_MS);
	j->refresh_after = now + j->config.cooldown_ms;
}

static void on_answer(void *ctx, const struct fetch_answer *answer)
{
	struct jwks *j = ctx;
	struct key_set *keys = NULL;
	const char *why = answer->error;

	if (answer->status == 200)
		keys = read_keys(answer->body, answer->len, &why);
	else if (answer->status)
		why = "the answer is not 200";
	if (keys)
		log_info(
		    "keys fetched", lf_str("url", j->shown_url), lf_int("keys", (int64_t)keys->n));
	else
		log_warn("keys not fetched", lf_str("url", j->shown_url),
		    lf_int("status", answer->status), lf_str("error", why));
	pthread_mutex_lock(&j->lock);
	settle(j, keys, jwks_max_age_ms(answer->cache_control, DEFAULT_MAX_AGE_MS), now_ms());
	j->fetching = false;
	pthread_mutex_unlock(&j->lock);
}

/* Under the lock. */
static void start_fetch(struct jwks *j, int64_t now)
{
	struct fetch_request request = {
	    .url = j->config.url,
	    .secure = true,
	    .max_bytes = MAX_BYTES,
	    .timeout_ms = TIMEOUT_MS,
	};
	struct err err = ERR_INIT;

	if (j->fetching)
		return;
	j->fetching = true;
	if (fetch_start(j->fetcher, &request, on_answer, j, &err) < 0) {
		log_warn("keys not fetched", lf_str("url", j->shown_url), lf_err(&err));
		settle(j, NULL, 0, now);
		j->fetching = false;
	}
}

static struct key_set *read_file(const char *path, const char **ret_why)
{
	char *bytes = mem_alloc(MAX_BYTES + 1);
	FILE *file = fopen(path, "re");
	struct key_set *keys = NULL;
	size_t len;

	*ret_why = "it cannot be read";
	if (!file)
		goto done;
	len = fread(bytes, 1, MAX_BYTES + 1, file);
	if (ferror(file))
		goto done;
	if (len > MAX_BYTES)
		*ret_why = "it is longer than 256 KiB";
	else
		keys = read_keys(bytes, len, ret_why);
done:
	if (file)
		fclose(file);
	free(bytes);
	return keys;
}

/* Under the lock: a file is small and near. */
static void read_again(struct jwks *j, int64_t now)
{
	const char *why;
	struct key_set *keys = read_file(j->config.file, &why);

	if (!keys)
		log_warn("keys not read", lf_str("file", j->config.file), lf_str("error", why));
	settle(j, keys, 0, now);
}

int jwks_open(const struct jwks_config *config, struct fetcher *fetcher, struct jwks **ret_jwks,
    struct err *err)
{
	struct key_set *keys = NULL;
	char *shown_url = NULL;
	struct jwks *j;
	const char *why;
	int rc = -1;

	if (config->file) {
		keys = read_file(config->file, &why);
		if (!keys) {
			err_set(err, ERR_USAGE, "%s: %s", config->file, why);
			goto done;
		}
	} else {
		shown_url = option_mask_url(config->url);
		if (fetch_check_url(config->url, true, err) < 0) {
			err->kind = ERR_USAGE;
			err_wrap(err, "%s", shown_url);
			goto done;
		}
	}
	j = mem_zalloc(1, sizeof(*j));
	j->config = *config;
	j->config.file = mem_strdup(config->file);
	j->config.url = mem_strdup(config->url);
	j->shown_url = shown_url;
	shown_url = NULL; /* the set's now */
	j->fetcher = fetcher;
	j->keys = keys;
	pthread_mutex_init(&j->lock, NULL);
	if (!config->file) {
		pthread_mutex_lock(&j->lock);
		start_fetch(j, now_ms());
		pthread_mutex_unlock(&j->lock);
	}
	*ret_jwks = j;
	rc = 0;
done:
	free(shown_url);
	return rc;
}

void jwks_close(struct jwks *j)
{
	if (!j)
		return;
	key_set_free(j->keys);
	pthread_mutex_destroy(&j->lock);
	free((char *)j->config.file);
	free((char *)j->config.url);
	free(j->shown_url);
	free(j);
}

/* Under the lock. */
static EVP_PKEY *find_key(const struct jwks *j, const char *kid)
{
	for (size_t i = 0; j->keys && i < j->keys->n; i++)
		if (strcmp(j->keys->keys[i].kid, kid) == 0)
			return j->keys->keys[i].key;
	return NULL;
}

/* Under the lock: ask for what is old or missing, as far as the rhythm allows. */
static void refresh(struct jwks *j, bool is_known, int64_t now)
{
	bool is_old = !j->config.file && now >= j->fresh_until && now >= j->refresh_after;
	bool is_wanted = !is_known && now >= j->renew_after;

	if (j->fetching || (!is_old && !is_wanted))
		return;
	if (is_wanted)
		j->renew_after = now + j->config.cooldown_ms;
	if (j->config.file)
		read_again(j, now);
	else
		start_fetch(j, now);
}

enum jwks_result jwks_find(struct jwks *j, const char *kid, EVP_PKEY **ret_key)
{
	enum jwks_result result = JWKS_UNAVAILABLE;
	int64_t now = now_ms();
	EVP_PKEY *key;

	pthread_mutex_lock(&j->lock);
	if (!j->config.file && j->keys && now > j->fresh_until + j->config.max_stale_ms) {
		key_set_free(j->keys);
		j->keys = NULL;
	}
	refresh(j, find_key(j, kid) != NULL, now);
	key = find_key(j, kid);
	if (key) {
		EVP_PKEY_up_ref(key);
		*ret_key = key;
		result = JWKS_FOUND;
	} else if (j->fetching) {
		result = JWKS_FETCHING;
	} else if (j->keys && !j->failed) {
		result = JWKS_UNKNOWN;
	}
	pthread_mutex_unlock(&j->lock);
	return result;
}
