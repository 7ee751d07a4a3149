#include "tests/support/witness.h"

#include "tests/support/copy.h"
#include "tests/support/die.h"
#include "world_text.h"

#include <stdio.h>
#include <string.h>

#define PAGE "2000"

void witness_install(struct world *w)
{
	world_sql(w, "%s", tests_support_sql_witness_sql);
	world_sql(w, "%s", tests_support_sql_invariants_sql);
}

void witness_answers(struct world *w, const struct load *l)
{
	struct copy *c = copy_new(w, "witness.answered");

	for (int i = 0; i < load_count(l); i++) {
		const struct load_item *item = load_at(l, i);

		if (item->accepted + item->duplicates == 0)
			continue;
		copy_text(c, load_store_name(item->store));
		copy_text(c, item->notification_id);
		copy_int(c, item->sends);
		copy_int(c, item->accepted);
		copy_int(c, item->duplicates);
		copy_row(c);
	}
	copy_end(c);
}

/* The value of a field in the flat name, value, ... array of an entry. */
static const redisReply *field(const redisReply *fields, const char *name)
{
	for (size_t i = 0; i + 1 < fields->elements; i += 2)
		if (strcmp(fields->element[i]->str, name) == 0)
			return fields->element[i + 1];
	return NULL;
}

static void copy_entry(struct copy *c, unsigned shard, int64_t place, const redisReply *entry)
{
	static const char *const names[] = {
	    "source", "id", "type", "subject", "time", "traceparent", "data"};
	const char *id = entry->element[0]->str, *dash = strchr(id, '-');

	copy_int(c, shard);
	copy_int(c, place);
	copy_column(c, id, (size_t)(dash - id));
	copy_text(c, dash + 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const redisReply *value = field(entry->element[1], names[i]);

		copy_column(c, value ? value->str : NULL, value ? (size_t)value->len : 0);
	}
	copy_row(c);
}

static void copy_stream(struct copy *c, struct world *w, unsigned shard)
{
	char after[64] = "-";
	int64_t place = 0;
	redisReply *page;

	for (;;) {
		page = world_redis_reply(
		    w, "XRANGE umavez:purchases:{%u} %s + COUNT " PAGE, shard, after);
		if (page->type != REDIS_REPLY_ARRAY)
			die("XRANGE: %s", page->str ? page->str : "no array");
		if (page->elements == 0)
			break;
		for (size_t i = 0; i < page->elements; i++)
			copy_entry(c, shard, place++, page->element[i]);
		snprintf(after, sizeof(after), "(%s",
		    page->element[page->elements - 1]->element[0]->str);
		freeReplyObject(page);
	}
	freeReplyObject(page);
}

static unsigned shard_count(struct world *w)
{
	return (unsigned)world_int(w, "SELECT shards FROM intake.setting");
}

int64_t witness_entries_added(struct world *w)
{
	unsigned shards = shard_count(w);
	int64_t added = 0;

	for (unsigned shard = 0; shard < shards; shard++) {
		redisReply *info =
		    world_redis_reply(w, "XINFO STREAM umavez:purchases:{%u}", shard);
		const redisReply *value = NULL;

		/* No such key: nothing was ever added. */
		if (info->type == REDIS_REPLY_ARRAY)
			value = field(info, "entries-added");
		added += value ? value->integer : 0;
		freeReplyObject(info);
	}
	return added;
}

void witness_streams(struct world *w)
{
	unsigned shards = shard_count(w);
	struct copy *c;

	world_sql(w, "TRUNCATE witness.entry");
	c = copy_new(w, "witness.entry");
	for (unsigned shard = 0; shard < shards; shard++)
		copy_stream(c, w, shard);
	copy_end(c);
}
