-- Rows behind a stream's end are no longer retained: for umavez reconcile, which tells it until
-- somebody says that he knows.
-- $1 shard  $2, $3 where the stream ends  $4 the oldest tick
-- Writes gap.
INSERT INTO intake.gap (shard, after_tick, after_id, tick) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
