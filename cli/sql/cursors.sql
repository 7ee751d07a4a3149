-- How far each consumer has got in each shard, and who holds it now.
SELECT c.consumer, c.shard, c.stream_id, CASE WHEN l.expires_at > clock_timestamp() THEN l.holder END AS holder
FROM effects.cursor AS c
LEFT JOIN effects.shard_lease AS l USING (consumer, shard)
ORDER BY c.shard, c.consumer
