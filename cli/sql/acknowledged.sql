-- The lowest position that every group of a stream has acknowledged; no row: no group was ever seen.
-- $1 shard
SELECT acknowledged_tick AS tick, acknowledged_id AS id
FROM intake.stream_group WHERE shard = $1
ORDER BY acknowledged_tick, acknowledged_id LIMIT 1
