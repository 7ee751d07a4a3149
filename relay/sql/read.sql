-- The rows of one tick, in order.  relay/row.c knows their columns.
-- $1 shard  $2 tick  $3 only ids above this  $4 the greatest size of a row that is given whole
-- Ids are sorted first and the rows fetched by them, so that a sort never holds bodies; created_at
-- goes along, so that each is looked for in one partition.  OFFSET 0 keeps the join one scan of index
-- (shard, xid) for each range, whatever the statistics say.
SELECT o.id, s.size, s.size <= $4 AS whole,
    left(o.message_id, s.shown) AS message_id, left(o.source, s.shown) AS source,
    left(o.type, s.shown) AS type, left(o.subject, s.shown) AS subject,
    o.time, left(o.traceparent, s.shown) AS traceparent,
    CASE WHEN s.size <= $4 THEN o.data END AS data, o.first_position, o.created_at
FROM (SELECT b.id, b.created_at
      FROM intake.tick_ranges($1, $2) AS r
      CROSS JOIN LATERAL (SELECT o.id, o.created_at FROM intake.outbox AS o
          WHERE o.shard = $1 AND o.xid >= r.first AND o.xid < r.past
            AND o.id > greatest(r.after_id, $3) OFFSET 0) AS b
      WHERE b.id <= (SELECT intake.tick_cap($1, $2))
      ORDER BY b.id) AS k
JOIN intake.outbox AS o ON o.id = k.id AND o.created_at = k.created_at
CROSS JOIN LATERAL (SELECT n.size, CASE WHEN n.size <= $4 THEN n.size ELSE 200 END::integer AS shown
    FROM (SELECT octet_length(o.message_id) + octet_length(o.source) + octet_length(o.type)
              + octet_length(o.subject) + coalesce(octet_length(o.traceparent), 0)
              + octet_length(o.data::text)::bigint AS size OFFSET 0) AS n OFFSET 0) AS s
ORDER BY k.id
