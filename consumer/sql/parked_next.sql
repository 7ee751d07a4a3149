-- What is to be done next, due or not.  More than one of a subject may have been given up, each before
-- what comes behind it could be held (effects.park_purged): they are retried in their order.
-- $1 consumer  $2 shard
SELECT source, message_id, subject, stream_id, state, starts,
    greatest(0, ceil(extract(epoch FROM next_at - clock_timestamp()) * 1000))::bigint AS wait_ms
FROM effects.parked AS p
WHERE consumer = $1 AND shard = $2::smallint AND state IN ('retrying', 'retry', 'discard')
  AND (state <> 'retry' OR NOT EXISTS (SELECT FROM effects.parked AS e
      WHERE e.consumer = p.consumer AND e.shard = p.shard
        AND hashtextextended(e.subject, 0) = hashtextextended(p.subject, 0)
        AND e.subject = p.subject AND e.place < p.place))
ORDER BY next_at LIMIT 1
