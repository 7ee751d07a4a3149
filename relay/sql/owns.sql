-- Which of some stream entries is ours: the first one in the given order, counted from 1.
-- $1 shard  $2 ticks  $3 outbox ids  $4 sources  $5 message ids
-- OFFSET 0 makes each id a look-up of its own in every partition's primary key: a join of the two
-- sets could read the whole shard by index (shard, xid) instead.
SELECT g.n
FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) WITH ORDINALITY
    AS g(tick, id, source, message_id, n)
CROSS JOIN LATERAL (SELECT o.id, o.xid, o.shard, o.source, o.message_id FROM intake.outbox AS o
    WHERE o.id = g.id OFFSET 0) AS o
WHERE o.shard = $1 AND o.source = g.source AND o.message_id = g.message_id
  AND intake.in_tick($1, g.tick, o.id, o.xid)
ORDER BY g.n LIMIT 1
