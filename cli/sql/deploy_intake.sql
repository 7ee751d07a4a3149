-- The rows that make a deployment, once: the setting, and for each shard the root of its tick chain
-- and its lease.  $1: number of shards.  No row was ever put into the outbox before: intake.receive
-- and intake.emit need the setting.
WITH made AS (
	INSERT INTO intake.setting (shards) VALUES ($1::smallint)
	ON CONFLICT (only_row) DO NOTHING RETURNING shards
), shard AS (
	SELECT generate_series(0, shards - 1)::smallint AS shard FROM made
), root AS (
	INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)
	SELECT shard, 0, 1, intake.current_snapshot() FROM shard
)
INSERT INTO intake.shard_lease (shard) SELECT shard FROM shard
