-- What is to be done next, due or not.
-- $1 consumer  $2 shard
SELECT source, message_id, subject, stream_id, state, starts,
    greatest(0, ceil(extract(epoch FROM next_at - clock_timestamp()) * 1000))::bigint AS wait_ms
FROM effects.parked
WHERE consumer = $1 AND shard = $2::smallint AND state IN ('retrying', 'retry', 'discard')
ORDER BY next_at LIMIT 1
