-- The rows of a page that a consumer has not applied, with how far it had got when that was so: one
-- snapshot for both, or what is applied meanwhile would look lost.
-- $1 the page  $2 consumer
SELECT count(i.message_id) AS applied,
    json_agg(json_build_object('id', r.id, 'source', r.source, 'message_id', r.message_id,
        'subject', r.subject, 'shard', r.shard, 'created_at', r.created_at,
        'cursor', coalesce(c.stream_id, '0-0'), 'purge_floor', c.purge_floor,
        'early', coalesce(r.created_at < c.made_at, false)) ORDER BY r.id)
        FILTER (WHERE i.message_id IS NULL) AS missing
FROM json_to_recordset($1::json) AS r(id bigint, source text, message_id text, subject text,
    shard smallint, created_at timestamptz)
LEFT JOIN effects.inbox AS i
    ON i.consumer = $2 AND i.source = r.source AND i.message_id = r.message_id
LEFT JOIN effects.cursor AS c ON c.consumer = $2 AND c.shard = r.shard
