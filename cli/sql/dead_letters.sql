-- Parked messages, in the order of their streams.
-- $1 consumer, or NULL  $2 state, or NULL: all but held  $3 source, or NULL  $4 subject, or NULL
-- $5 message id, with or without its source in front, or NULL: then in any state  $6 at most
SELECT p.consumer, p.source, p.message_id, p.subject, p.shard, p.stream_id, p.state, p.starts, p.error,
    p.context, p.remark,
    (SELECT coalesce(jsonb_agg(jsonb_set(h, '{at}', to_jsonb(to_char((h ->> 'at')::timestamptz,
         'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) ORDER BY n), '[]')
     FROM jsonb_array_elements(p.history) WITH ORDINALITY AS e(h, n)) AS history,
    CASE WHEN $5::text IS NOT NULL THEN p.event END AS event,
    (extract(epoch FROM p.first_at) * 1000)::bigint AS first_ms,
    (extract(epoch FROM p.last_at) * 1000)::bigint AS last_ms,
    CASE WHEN p.state IN ('retrying', 'retry', 'discard')
         THEN (extract(epoch FROM p.next_at) * 1000)::bigint END AS next_ms,
    (SELECT count(*) FROM effects.parked AS b
     WHERE b.consumer = p.consumer AND b.shard = p.shard AND b.subject = p.subject
       AND hashtextextended(b.subject, 0) = hashtextextended(p.subject, 0)
       AND b.place > p.place) AS behind,
    CASE WHEN p.state = 'held' THEN (
     SELECT a.source || '/' || a.message_id FROM effects.parked AS a
     WHERE a.consumer = p.consumer AND a.shard = p.shard AND a.subject = p.subject
       AND hashtextextended(a.subject, 0) = hashtextextended(p.subject, 0)
     ORDER BY a.place LIMIT 1) END AS ahead,
    CASE WHEN l.expires_at > clock_timestamp() THEN l.holder END AS holder
FROM effects.parked AS p
LEFT JOIN effects.shard_lease AS l USING (consumer, shard)
WHERE ($1::text IS NULL OR p.consumer = $1)
  AND (p.state = $2 OR $2::text IS NULL AND ($5::text IS NOT NULL OR p.state <> 'held'))
  AND ($3::text IS NULL OR p.source = $3)
  AND ($4::text IS NULL OR p.subject = $4)
  AND ($5::text IS NULL OR p.message_id = $5 OR p.source || '/' || p.message_id = $5)
ORDER BY p.consumer, p.place
LIMIT $6::bigint
