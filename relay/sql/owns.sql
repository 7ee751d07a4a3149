-- Which of some stream entries are ours, counted from 1: the first one in the given order that is the
-- row's at that position, and the first one that was until a repair made the position void.
-- $1 shard  $2 ticks  $3 outbox ids  $4 sources  $5 message ids
-- OFFSET 0 makes each id a look-up of its own in every partition's primary key: a join of the two
-- sets could read the whole shard by index (shard, xid) instead.
SELECT min(n) FILTER (WHERE NOT void) AS own, min(n) FILTER (WHERE void) AS stray
FROM (SELECT g.n, coalesce(o.id > intake.tick_cap($1, g.tick), true) AS void
      FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) WITH ORDINALITY
          AS g(tick, id, source, message_id, n)
      CROSS JOIN LATERAL (SELECT o.id, o.xid, o.shard, o.source, o.message_id FROM intake.outbox AS o
          WHERE o.id = g.id OFFSET 0) AS o
      WHERE o.shard = $1 AND o.source = g.source AND o.message_id = g.message_id
        AND intake.was_in_tick($1, g.tick, o.id, o.xid)) AS ours
