-- What each consumer has made of one message.
-- $1 source  $2 message id  $3 shard, or NULL where the inbox must tell it  $4 consumer, or NULL for all
SELECT k.consumer, coalesce($3::smallint, i.shard) AS shard, c.stream_id AS cursor,
    CASE WHEN l.expires_at > clock_timestamp() THEN l.holder END AS holder,
    i.consumer IS NOT NULL AS applied, i.stream_id, i.instance, i.xid,
    (extract(epoch FROM i.published_at) * 1000)::bigint AS published_ms,
    (extract(epoch FROM i.delivered_at) * 1000)::bigint AS delivered_ms,
    (extract(epoch FROM i.processed_at) * 1000)::bigint AS applied_ms
FROM (SELECT consumer FROM effects.cursor WHERE consumer = coalesce($4, consumer)
      UNION SELECT $4 WHERE $4 IS NOT NULL) AS k
LEFT JOIN effects.inbox AS i
    ON i.consumer = k.consumer AND i.source = $1 AND i.message_id = $2
LEFT JOIN effects.cursor AS c
    ON c.consumer = k.consumer AND c.shard = coalesce($3::smallint, i.shard)
LEFT JOIN effects.shard_lease AS l ON l.consumer = c.consumer AND l.shard = c.shard
ORDER BY k.consumer
