#include "tests/schema/past.h"

void past_make(struct world *w)
{
	world_sql(w, "TRUNCATE intake.outbox, intake.tick, intake.stream_group, intake.retained");
	world_sql(w, "DO $$ DECLARE p regclass; d date; n integer;"
		     " today date := (now() AT TIME ZONE 'UTC')::date;"
		     " BEGIN"
		     " FOR p IN SELECT relation FROM intake.partition LOOP"
		     "  EXECUTE 'DROP TABLE ' || p; END LOOP;"
		     " FOR d IN SELECT DISTINCT intake.partition_start('tick', today - k)"
		     "  FROM generate_series(0, 35) AS k ORDER BY 1 LOOP"
		     "  PERFORM intake.make_partition('tick', d); END LOOP;"
		     " FOREACH n IN ARRAY ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 30] LOOP"
		     "  PERFORM intake.make_partition('outbox', today - n); END LOOP;"
		     " END $$");
	world_sql(w, "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
		     " SELECT n, 0, 1, pg_current_snapshot() FROM intake.setting,"
		     " generate_series(0, shards - 1) AS n");
}

void past_row(struct world *w, int shard, int days_ago, const char *message_id)
{
	world_sql(w,
	    "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data,"
	    " created_at) VALUES (%d, 'app', '%s', 't', 'app/1', now(), '{}',"
	    " clock_timestamp() - %d * interval '24 hours')",
	    shard, message_id, days_ago);
}

void past_tick(struct world *w, int shard, int days_ago)
{
	world_sql(w,
	    "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
	    " SELECT %d, max(tick), greatest(max(tick) + 1, (extract(epoch FROM clock_timestamp())"
	    " * 1000)::bigint - %d * 86400000::bigint), pg_current_snapshot()"
	    " FROM intake.tick WHERE shard = %d",
	    shard, days_ago, shard);
}

void past_acknowledge(struct world *w, int shard)
{
	world_sql(w,
	    "INSERT INTO intake.stream_group (shard, name, acknowledged_tick, acknowledged_id)"
	    " SELECT %d, 'g', max(tick), 9223372036854775807 FROM intake.tick WHERE shard = %d"
	    " ON CONFLICT (shard, name) DO UPDATE SET acknowledged_tick = "
	    "excluded.acknowledged_tick,"
	    " acknowledged_id = excluded.acknowledged_id",
	    shard, shard);
}
