-- The ticks that an outbox row stands in.
-- $1 outbox id
SELECT t.tick, (extract(epoch FROM t.at) * 1000)::bigint AS at_ms
FROM intake.outbox AS o CROSS JOIN LATERAL intake.ticks_of(o.shard, o.id, o.xid) AS t
WHERE o.id = $1
ORDER BY t.tick
