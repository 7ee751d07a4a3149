-- Registered groups: what they acknowledged, when that was stored, and the server's time.
-- A position that stays the same is not stored again: at_ms is when it moved last.
SELECT shard, name, acknowledged_tick AS tick, acknowledged_id AS id,
    (extract(epoch FROM at) * 1000)::bigint AS at_ms,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms
FROM intake.stream_group ORDER BY shard, name
