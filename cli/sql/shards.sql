-- Each shard, who holds it now, and what the tables say of the whole.
SELECT s.shard, CASE WHEN l.expires_at > clock_timestamp() THEN l.holder END AS relay,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms,
    (SELECT count(*) FROM intake.notification WHERE kind = 'unrecognized') AS quarantined
FROM intake.setting AS d
CROSS JOIN LATERAL generate_series(0, d.shards - 1) AS s(shard)
LEFT JOIN intake.shard_lease AS l ON l.shard = s.shard
ORDER BY s.shard
