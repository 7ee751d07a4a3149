-- The outbox row that stands at a position.
-- $1 tick  $2 outbox id  $3 shard, or NULL for any
SELECT o.source, o.message_id, o.id
FROM intake.outbox AS o
WHERE o.id = $2 AND o.shard = coalesce($3::smallint, o.shard)
  AND intake.in_tick(o.shard, $1, o.id, o.xid)
