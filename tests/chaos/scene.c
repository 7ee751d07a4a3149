#include "tests/chaos/scene.h"

#include "tests/crash/streams.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_MS 90000
#define DUPLICATES 0.3

static const char *const role_names[ROLES] = {"producer", "relay", "consumer"};

static void print_line(const struct scene *s, const char *mark, const char *fmt, va_list args)
{
	int64_t ms = now_ms() - s->started_ms;

	printf("%4" PRId64 ".%03" PRId64 " %s", ms / 1000, ms % 1000, mark);
	vprintf(fmt, args);
	putchar('\n');
	fflush(stdout);
}

void scene_say(const struct scene *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line(s, "", fmt, args);
	va_end(args);
}

void scene_blame(struct scene *s, const char *fmt, ...)
{
	va_list args;

	s->counts.violations++;
	va_start(args, fmt);
	print_line(s, "VIOLATION: ", fmt, args);
	va_end(args);
}

/* The witness's handler, which chaos can make refuse a purchase for a while. */
static void install_handler(struct scene *s)
{
	effects_db_run(s->effects,
	    "CREATE TABLE witness.refused (subject text NOT NULL, until timestamptz NOT NULL);"
	    "CREATE FUNCTION witness.apply_or_refuse(event json) RETURNS void LANGUAGE plpgsql AS "
	    "$$ "
	    "BEGIN IF EXISTS (SELECT FROM witness.refused WHERE subject = event ->> 'subject' "
	    "AND until > clock_timestamp()) THEN RAISE 'refused'; END IF; "
	    "PERFORM witness.apply(event); END $$;"
	    "CREATE FUNCTION witness.apply_or_refuse_batch(events json[]) RETURNS void"
	    " LANGUAGE plpgsql AS $$ "
	    "BEGIN IF EXISTS (SELECT FROM unnest(events) AS e JOIN witness.refused "
	    "ON subject = e ->> 'subject' WHERE until > clock_timestamp()) THEN RAISE 'refused'; "
	    "END IF; PERFORM witness.apply_batch(events); END $$;"
	    "GRANT SELECT ON witness.refused TO umavez_consumer");
}

/* What was tried in vain too often, or by consumers that were killed over it, waits for an
 * operator. */
static bool is_applied(void *ctx)
{
	const struct scene *s = ctx;

	effects_db_run(s->effects,
	    "UPDATE effects.parked SET state = 'retry', next_at = clock_timestamp() "
	    "WHERE state = 'failed'");
	return effects_db_await_applied(s->effects, 1000);
}

static void start_member(struct scene *s, int i)
{
	struct member *m = &s->members[i];
	struct proxy *pg = s->proxies[2 * i], *redis = s->proxies[2 * i + 1];
	char *effects_url = proxy_url(pg, effects_db_url(s->effects));
	const char *const producer[] = {"--request-timeout", "3s", NULL};
	/* Small appends and batches: so that there are middles to be interrupted in. */
	const char *const relay[] = {"--append-batch", "5", "--trim-interval",
	    s->trims ? "100ms" : "10s", "--poll-interval", "100ms", NULL};
	const char *const consumer[] = {"--database-url", effects_url, "--batch", "20", "--handler",
	    "witness.apply_or_refuse", NULL};

	m->role = (enum role)(i / 2);
	snprintf(m->name, sizeof(m->name), "%s %d", role_names[m->role], i % 2 + 1);
	world_via(s->stack.world, pg, redis);
	m->proc = m->role == PRODUCER ? stack_producer(&s->stack, producer, NULL)
		  : m->role == RELAY  ? stack_relay(&s->stack, relay, NULL)
				      : stack_consumer(&s->stack, consumer, NULL);
	free(effects_url);
}

static void start_load(struct scene *s, uint64_t seed, int64_t for_ms, int per_second)
{
	const char *const urls[] = {
	    proc_url(s->members[0].proc), proc_url(s->members[1].proc), NULL};
	struct load_options options = {
	    .seed = seed, .duplicates = DUPLICATES, .reorder = 0.3, .threads = 16};

	options.per_second = per_second;
	options.notifications = 1 + (int)((double)for_ms / 1000 * per_second / (1 + DUPLICATES));
	s->load = load_new(&options, world_signer(s->stack.world));
	load_start(s->load, urls);
}

void scene_open(struct scene *s, uint64_t seed, int64_t for_ms, int per_second)
{
	*s = (struct scene){.trims = seed % 2 == 0};
	stack_open(&s->stack);
	world_pg_add_standby(s->stack.world);
	if (!s->trims)
		stack_keep_streams(&s->stack);
	world_sql(s->stack.world,
	    "INSERT INTO intake.emitter (role_name, source) VALUES ('postgres', 'app')");
	s->effects = effects_db_open(s->stack.world);
	install_handler(s);
	effects_db_backup(s->effects, "copy_0");
	s->copies = 1;
	for (int i = 0; i < PROXIES; i++)
		s->proxies[i] =
		    i % 2 ? world_redis_proxy(s->stack.world) : world_pg_proxy(s->stack.world);
	for (int i = 0; i < MEMBERS; i++)
		start_member(s, i);
	for (int i = 0; i < MEMBERS; i++)
		if (!proc_await_ready(s->members[i].proc, STACK_WAIT_MS))
			die("%s does not become ready", s->members[i].name);
	s->started_ms = now_ms();
	start_load(s, seed, for_ms, per_second);
}

void scene_close(struct scene *s, bool keep)
{
	load_free(s->load);
	effects_db_close(s->effects);
	if (!keep)
		unsetenv("KEEP");
	stack_close(&s->stack);
}

void scene_watch(struct scene *s)
{
	for (int i = 0; i < MEMBERS; i++) {
		struct member *m = &s->members[i];

		if (m->away || proc_alive(m->proc))
			continue;
		scene_blame(s, "%s ended by itself, status %d", m->name, proc_wait(m->proc, 0));
		file_print_tail(proc_log(m->proc), 4000);
		m->away = true; /* said once */
	}
}

static void heal_networks(struct scene *s)
{
	for (int i = 0; i < PROXIES; i++)
		proxy_heal(s->proxies[i]);
}

static void await_members(struct scene *s)
{
	for (int i = 0; i < MEMBERS; i++)
		if (!proc_await_ready(s->members[i].proc, SETTLE_MS))
			scene_blame(s, "%s is not ready", s->members[i].name);
}

void scene_settle(struct scene *s)
{
	scene_say(s, "heal everything");
	heal_networks(s);
	if (load_wait(s->load, SETTLE_MS))
		scene_say(s, "all is answered");
	else
		scene_blame(s, "notifications are not answered");
	if (await(is_applied, s, SETTLE_MS))
		scene_say(s, "all is applied");
	else
		scene_blame(s, "messages are not applied");
	if (!s->trims && !streams_await_complete(s->stack.world, SETTLE_MS))
		scene_blame(s, "the streams are not complete");
	scene_watch(s);
	await_members(s);
}

void scene_judge(struct scene *s, struct ledger *ret)
{
	/* Foreign entries make repair ticks, and restored databases make replays. */
	unsigned which = INVARIANTS_ALL | INVARIANTS_FOREIGN | INVARIANTS_REPEATS |
			 (s->trims ? INVARIANTS_TRIMMED : 0);
	struct world *w = s->stack.world;

	witness_answers(w, s->load);
	effects_db_gather(s->effects);
	ledger_read(w, s->load, ret);
	s->counts.violations += invariants_broken(w, which);
	if (ret->lost > 0)
		scene_blame(
		    s, "%" PRId64 " notifications were answered and had no effect", ret->lost);
	if (ret->doubled > 0)
		scene_blame(s, "%" PRId64 " effects too many", ret->doubled);
	if (ret->load.refused > 0)
		scene_blame(s, "%" PRId64 " notifications were refused", ret->load.refused);
}

int64_t scene_rewinds(const struct scene *s)
{
	int64_t n = 0;

	for (int i = 0; i < MEMBERS; i++)
		if (s->members[i].role == RELAY)
			n += file_count(proc_log(s->members[i].proc), "Redis has lost entries");
	return n;
}
