-- What each consumer has made of one message.
-- $1 source  $2 message id  $3 shard, or NULL where the inbox must tell it  $4 consumer, or NULL for all
SELECT k.consumer, coalesce($3::smallint, i.shard, p.shard) AS shard, c.stream_id AS cursor,
    CASE WHEN l.expires_at > clock_timestamp() THEN l.holder END AS holder,
    i.consumer IS NOT NULL AS applied, coalesce(i.stream_id, p.stream_id) AS stream_id, i.instance,
    i.xid, i.discarded,
    (extract(epoch FROM coalesce(i.published_at, p.published_at)) * 1000)::bigint AS published_ms,
    (extract(epoch FROM coalesce(i.delivered_at, p.delivered_at)) * 1000)::bigint AS delivered_ms,
    (extract(epoch FROM i.processed_at) * 1000)::bigint AS applied_ms,
    p.state AS parked, p.starts, p.error, p.remark,
    (extract(epoch FROM CASE p.state WHEN 'held' THEN p.first_at ELSE p.last_at END) * 1000)::bigint
        AS parked_ms,
    CASE WHEN p.state IN ('retrying', 'retry', 'discard')
         THEN (extract(epoch FROM p.next_at) * 1000)::bigint END AS next_ms,
    a.name AS ahead, a.state AS ahead_state, a.error AS ahead_error
FROM (SELECT consumer FROM effects.cursor WHERE consumer = coalesce($4, consumer)
      UNION SELECT $4 WHERE $4 IS NOT NULL) AS k
LEFT JOIN effects.inbox AS i
    ON i.consumer = k.consumer AND i.source = $1 AND i.message_id = $2
LEFT JOIN effects.parked AS p
    ON p.consumer = k.consumer AND p.source = $1 AND p.message_id = $2
LEFT JOIN LATERAL (
    SELECT f.source || '/' || f.message_id AS name, f.state, f.error FROM effects.parked AS f
    WHERE p.state = 'held' AND f.consumer = p.consumer AND f.shard = p.shard
      AND f.subject = p.subject AND hashtextextended(f.subject, 0) = hashtextextended(p.subject, 0)
    ORDER BY f.place LIMIT 1) AS a ON true
LEFT JOIN effects.cursor AS c
    ON c.consumer = k.consumer AND c.shard = coalesce($3::smallint, i.shard, p.shard)
LEFT JOIN effects.shard_lease AS l ON l.consumer = c.consumer AND l.shard = c.shard
ORDER BY k.consumer
