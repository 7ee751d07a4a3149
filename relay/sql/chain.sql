-- What the relay must know before it decides where to go on.
-- $1 shard
-- oldest_tick: rows up to this tick's batch may no longer be retained; 0: nothing was ever dropped.
-- released_tick: up to there by retention, once every group had acknowledged them; 0: never.
SELECT l.tick AS last_tick, coalesce(r.previous_tick, 0) AS released_tick,
    greatest(CASE WHEN f.previous_tick = 0 THEN 0 ELSE f.tick END, r.previous_tick) AS oldest_tick,
    a.acknowledged_tick, a.acknowledged_id,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms
FROM (SELECT tick FROM intake.tick WHERE shard = $1 ORDER BY tick DESC LIMIT 1) AS l
CROSS JOIN (SELECT tick, previous_tick FROM intake.tick WHERE shard = $1 ORDER BY tick LIMIT 1) AS f
LEFT JOIN intake.retained AS r ON r.shard = $1
LEFT JOIN (SELECT acknowledged_tick, acknowledged_id FROM intake.stream_group
    WHERE shard = $1 ORDER BY acknowledged_tick, acknowledged_id LIMIT 1) AS a ON true
