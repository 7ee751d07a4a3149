-- Registered groups, with the age of what they acknowledged.
SELECT shard, name, acknowledged_tick AS tick, acknowledged_id AS id,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint - acknowledged_tick AS behind_ms
FROM intake.stream_group ORDER BY shard, name
