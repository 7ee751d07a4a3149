-- Whether a stream entry stands for a row of this outbox.
-- $1 shard  $2 tick  $3 outbox id  $4 source  $5 message id
SELECT EXISTS (SELECT FROM intake.outbox AS o
    WHERE o.id = $3 AND o.shard = $1 AND o.source = $4 AND o.message_id = $5
      AND intake.in_tick($1, $2, o.id, o.xid)) AS own
