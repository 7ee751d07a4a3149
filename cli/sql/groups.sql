-- Every consumer group that a relay has ever seen, and how many shards there are.
-- $1 only this name, or NULL for all  $2 only this shard, or NULL for all
SELECT s.shards, g.shard, g.name, g.acknowledged_tick || '-' || g.acknowledged_id AS acknowledged,
    to_char(g.at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
FROM intake.setting AS s
LEFT JOIN intake.stream_group AS g
    ON g.name = coalesce($1, g.name) AND g.shard = coalesce($2::smallint, g.shard)
ORDER BY g.shard, g.name
