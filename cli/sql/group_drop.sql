-- Forget a group: trimming waits for it no longer.
-- $1 name  $2 shard, or NULL for all
-- Writes stream_group.
WITH gone AS (
	DELETE FROM intake.stream_group
	WHERE name = $1 AND shard = coalesce($2::smallint, shard)
	RETURNING shard, acknowledged_tick || '-' || acknowledged_id AS acknowledged
)
SELECT shard, acknowledged FROM gone ORDER BY shard
