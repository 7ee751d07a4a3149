-- Which of some stream entries is ours: the first one in the given order, counted from 1.
-- $1 shard  $2 ticks  $3 outbox ids  $4 sources  $5 message ids
SELECT g.n
FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) WITH ORDINALITY
    AS g(tick, id, source, message_id, n)
JOIN intake.outbox AS o ON o.id = g.id
WHERE o.shard = $1 AND o.source = g.source AND o.message_id = g.message_id
  AND intake.in_tick($1, g.tick, o.id, o.xid)
ORDER BY g.n LIMIT 1
