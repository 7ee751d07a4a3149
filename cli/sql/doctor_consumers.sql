-- Each consumer that ever began, how far it is in each shard, and who holds that for it now.
SELECT k.consumer, s.shard, coalesce(c.stream_id, '0-0') AS stream_id,
    CASE WHEN l.expires_at > clock_timestamp() THEN l.holder END AS holder
FROM (SELECT DISTINCT consumer FROM effects.cursor) AS k
CROSS JOIN (SELECT generate_series(0, shards - 1) AS shard FROM effects.setting) AS s
LEFT JOIN effects.cursor AS c ON c.consumer = k.consumer AND c.shard = s.shard
LEFT JOIN effects.shard_lease AS l ON l.consumer = k.consumer AND l.shard = s.shard
ORDER BY k.consumer, s.shard
