#include "consumer/progress.h"

#include "common/clock.h"
#include "common/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define WHY_SIZE 256

struct shard_progress {
	bool held;
	int64_t failed;     /* messages */
	int64_t ok_us;      /* when it last said that it works */
	char why[WHY_SIZE]; /* "": it works */
};

struct progress {
	pthread_mutex_t lock;
	int64_t silence_us;
	char why[WHY_SIZE]; /* of the process as a whole; "": it works */
	unsigned n;
	struct shard_progress *shards;
};

struct progress *progress_new(int64_t silence_ms)
{
	struct progress *p = mem_zalloc(1, sizeof(*p));

	pthread_mutex_init(&p->lock, NULL);
	p->silence_us = silence_ms * 1000;
	snprintf(p->why, sizeof(p->why), "starting");
	return p;
}

void progress_free(struct progress *p)
{
	if (!p)
		return;
	pthread_mutex_destroy(&p->lock);
	free(p->shards);
	free(p);
}

void progress_why(struct progress *p, const char *why)
{
	pthread_mutex_lock(&p->lock);
	snprintf(p->why, sizeof(p->why), "%s", why ? why : "");
	pthread_mutex_unlock(&p->lock);
}

void progress_shards(struct progress *p, unsigned shards)
{
	pthread_mutex_lock(&p->lock);
	assert(!p->shards);
	p->shards = mem_zalloc(shards, sizeof(*p->shards));
	p->n = shards;
	pthread_mutex_unlock(&p->lock);
}

/* The one place where a shard's state is set. */
static void set(struct progress *p, unsigned shard, bool held, const char *why)
{
	pthread_mutex_lock(&p->lock);
	assert(shard < p->n);
	p->shards[shard].held = held;
	p->shards[shard].ok_us = clock_mono_us();
	snprintf(p->shards[shard].why, WHY_SIZE, "%s", why);
	pthread_mutex_unlock(&p->lock);
}

void progress_enter(struct progress *p, unsigned shard)
{
	set(p, shard, true, "starting");
}

void progress_ok(struct progress *p, unsigned shard)
{
	set(p, shard, true, "");
}

void progress_stuck(struct progress *p, unsigned shard, const char *why, ...)
{
	char text[WHY_SIZE];
	va_list args;

	va_start(args, why);
	vsnprintf(text, sizeof(text), why, args);
	va_end(args);
	set(p, shard, true, text);
}

void progress_leave(struct progress *p, unsigned shard)
{
	progress_failed(p, shard, 0);
	set(p, shard, false, "");
}

void progress_failed(struct progress *p, unsigned shard, int64_t n)
{
	pthread_mutex_lock(&p->lock);
	assert(shard < p->n);
	p->shards[shard].failed = n;
	pthread_mutex_unlock(&p->lock);
}

static bool shard_ready(const struct progress *p, unsigned shard, char *reason, size_t size)
{
	const struct shard_progress *s = &p->shards[shard];
	int64_t silent_us = clock_mono_us() - s->ok_us;

	if (!s->held)
		return true;
	if (*s->why) {
		snprintf(reason, size, "shard %u: %s", shard, s->why);
		return false;
	}
	if (silent_us > p->silence_us) {
		snprintf(reason, size, "shard %u: no progress for %lld s", shard,
		    (long long)(silent_us / 1000000));
		return false;
	}
	return true;
}

static void tell_failed(const struct progress *p, char *reason, size_t size)
{
	int64_t failed = 0;

	for (unsigned i = 0; i < p->n; i++)
		failed += p->shards[i].failed;
	if (failed > 0)
		snprintf(reason, size, "ok; failed messages: %lld (see umavez dead-letter list)",
		    (long long)failed);
}

bool progress_ready(void *progress, char *reason, size_t reason_size)
{
	struct progress *p = progress;
	bool ready;

	pthread_mutex_lock(&p->lock);
	ready = !p->why[0];
	if (!ready)
		snprintf(reason, reason_size, "%s", p->why);
	for (unsigned i = 0; i < p->n && ready; i++)
		ready = shard_ready(p, i, reason, reason_size);
	if (ready)
		tell_failed(p, reason, reason_size);
	pthread_mutex_unlock(&p->lock);
	return ready;
}
