#include "tests/support/cluster.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/proc.h"
#include "tests/support/seed.h"
#include "tests/support/sentinels.h"
#include "tests/support/text.h"
#include "tests/support/world_private.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_BYTES 3000

const char *const world_role_names[ROLE_COUNT] = {
    "postgres", "w_producer", "w_relay", "w_consumer", "w_operator"};

const char *const world_redis_users[ROLE_COUNT] = {
    NULL, NULL, "umavez_relay", "umavez_consumer", "umavez_operator"};

static bool keep_directory(void)
{
	const char *keep = getenv("KEEP");

	return keep != NULL && strcmp(keep, "1") == 0;
}

/* What configures the user's own servers must not reach ours. */
static void clean_environment(void)
{
	static const char *const prefixes[] = {
	    "PG", "OTEL_", "DATABASE_URL=", "REDIS_URL=", "UMAVEZ_", NULL};
	char seed[32];

	for (char **var = environ; *var != NULL;) {
		char *name = NULL;

		for (size_t i = 0; prefixes[i] != NULL && name == NULL; i++)
			if (strncmp(*var, prefixes[i], strlen(prefixes[i])) == 0)
				name = strndup(*var, strcspn(*var, "="));
		if (name != NULL && strcmp(name, "UMAVEZ_FAILPOINT_LOG") != 0 &&
		    strncmp(name, "UMAVEZ_TEST_", strlen("UMAVEZ_TEST_")) != 0)
			unsetenv(name); /* moves the rest up: look at the same place again */
		else
			var++;
		free(name);
	}
	snprintf(seed, sizeof(seed), "%" PRIu64, check_seed());
	setenv("UMAVEZ_SEED", seed, 1);
}

static void make_directory(struct world *w)
{
	w->dir = text_format("%s/umavez-XXXXXX", temp_root());
	/* Others may pass through: as root, PostgreSQL runs as another user. */
	if (mkdtemp(w->dir) == NULL || chmod(w->dir, 0711) < 0)
		die("cannot make %s: %s", w->dir, strerror(errno));
	if (!keep_directory())
		janitor_hire(&w->janitor, w->dir);
}

/* migrated: what `umavez migrate` left is there; NULL: nothing is. */
static void start_servers(struct world *w, const char *migrated, bool share_template)
{
	char *pg_dir = text_format("%s/pg", w->dir), *pg_log = text_format("%s/pg.log", w->dir);
	char *redis_dir = text_format("%s/redis", w->dir);
	char *redis_log = text_format("%s/redis.log", w->dir);

	w->redis = redis_server_new(redis_dir, redis_log);
	redis_server_start(w->redis, false);
	w->pg = migrated ? pg_server_new_from(migrated, pg_dir, pg_log)
			 : pg_server_new(pg_dir, pg_log, share_template);
	pg_server_start(w->pg);
	free(pg_dir);
	free(pg_log);
	free(redis_dir);
	free(redis_log);
}

static void make_urls(struct world *w)
{
	for (int i = 0; i < ROLE_COUNT; i++)
		w->urls[i] = pg_server_url(w->pg, world_role_names[i]);
	for (int i = 0; i < ROLE_COUNT; i++)
		w->redis_urls[i] = redis_server_url(w->redis, world_redis_users[i]);
}

struct world *world_open(unsigned shards)
{
	return world_open_with(&(struct world_options){.shards = shards});
}

/*
 * Where a run of all tests keeps what `umavez migrate` makes of an empty server, which takes as
 * long as everything else at a world's start: for this program, as it was built last.  NULL:
 * nowhere.
 */
static char *migrated_path(const struct world *w, const struct world_options *options)
{
	const char *dir = getenv("UMAVEZ_TEST_TEMPLATES");
	char *program, *path;
	struct stat st;

	if (dir == NULL || options->leave_nothing || options->shards == 0)
		return NULL;
	program = text_format("%s/umavez", w->bin_dir);
	if (stat(program, &st) < 0)
		die("%s: %s", program, strerror(errno));
	path = text_format("%s/umavez-migrated-%u-%ju-%jd.%09ld", dir, options->shards,
	    (uintmax_t)st.st_ino, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	free(program);
	return path;
}

static void keep_migrated(struct world *w, const char *path)
{
	world_pg_stop(w, "fast");
	pg_server_keep(w->pg, path);
	world_pg_start(w);
}

static void start_migrated(struct world *w, const struct world_options *options)
{
	char *path = migrated_path(w, options);
	bool kept = path != NULL && access(path, F_OK) == 0;

	start_servers(w, kept ? path : NULL, !options->leave_nothing);
	make_urls(w);
	if (options->shards > 0 && !kept) {
		world_migrate(w, options->shards);
		if (path != NULL)
			keep_migrated(w, path);
	}
	free(path);
}

struct world *world_open_with(const struct world_options *options)
{
	struct world *w = calloc(1, sizeof(*w));

	if (w == NULL)
		die("out of memory");
	clean_environment();
	pthread_mutex_init(&w->sql_lock, NULL);
	make_directory(w);
	w->bin_dir = text_format("%s", options->bin_dir ? options->bin_dir : UMAVEZ_BIN_DIR);
	w->host = "127.0.0.1";
	w->may_refuse = options->may_refuse;
	start_migrated(w, options);
	return w;
}

void world_migrate(struct world *w, unsigned shards)
{
	char *number = text_format("%u", shards);
	const char *const args[] = {
	    "migrate", "--database-url", world_admin_url(w), "--shards", number, "--roles", NULL};
	int status = world_run(w, NULL, "umavez", args);

	free(number);
	if (status != 0)
		world_die(w, "umavez migrate: exit status %d", status);
	world_sql(w, "CREATE ROLE w_producer LOGIN IN ROLE umavez_producer;"
		     "CREATE ROLE w_relay LOGIN IN ROLE umavez_relay;"
		     "CREATE ROLE w_consumer LOGIN IN ROLE umavez_consumer;"
		     "CREATE ROLE w_operator LOGIN IN ROLE umavez_operator");
}

void world_close(struct world *w)
{
	if (w == NULL)
		return;
	world_services_end(w);
	world_proxies_close(w);
	PQfinish(w->sql);
	pg_server_free(w->pg_standby);
	pg_server_free(w->pg);
	cluster_free(w->cluster);
	sentinels_free(w->sentinels);
	redis_server_free(w->redis_replica);
	redis_server_free(w->redis);
	signer_free(w->signer);
	if (keep_directory())
		fprintf(stderr, "kept: %s\n", w->dir);
	else if (w->janitor.pid > 0)
		janitor_dismiss(&w->janitor);
	else
		tree_remove(w->dir);
	for (int i = 0; i < ROLE_COUNT; i++) {
		free(w->urls[i]);
		free(w->redis_urls[i]);
	}
	free(w->bin_dir);
	free(w->dir);
	pthread_mutex_destroy(&w->sql_lock);
	free(w);
}

void world_print_logs(const struct world *w)
{
	DIR *dir = opendir(w->dir);
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		const char *dot = strrchr(entry->d_name, '.');
		char *path;

		if (dot == NULL || strcmp(dot, ".log") != 0)
			continue;
		path = text_format("%s/%s", w->dir, entry->d_name);
		file_print_tail(path, TAIL_BYTES);
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
}

void world_die(struct world *w, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	world_print_logs(w);
	die("giving up");
}

const char *world_dir(const struct world *w)
{
	return w->dir;
}

const char *world_admin_url(const struct world *w)
{
	return w->urls[ROLE_ADMIN];
}

const char *world_producer_url(const struct world *w)
{
	return w->urls[ROLE_PRODUCER];
}

const char *world_relay_url(const struct world *w)
{
	return w->urls[ROLE_RELAY];
}

const char *world_consumer_url(const struct world *w)
{
	return w->urls[ROLE_CONSUMER];
}

const char *world_operator_url(const struct world *w)
{
	return w->urls[ROLE_OPERATOR];
}

const char *world_redis_url(const struct world *w)
{
	return w->redis_urls[ROLE_ADMIN];
}

void world_pg_stop(struct world *w, const char *mode)
{
	world_sql_reset(w);
	pg_server_stop(w->pg, mode);
}

void world_pg_start(struct world *w)
{
	pg_server_start(w->pg);
}

redisContext *world_redis(struct world *w)
{
	return redis_server_connect(w->redis);
}

void world_redis_stop(struct world *w, bool save)
{
	redis_server_stop(w->redis, save);
}

void world_redis_start(struct world *w, bool keep_data)
{
	redis_server_start(w->redis, keep_data);
}

pid_t world_redis_pid(const struct world *w)
{
	return redis_server_pid(w->redis);
}
