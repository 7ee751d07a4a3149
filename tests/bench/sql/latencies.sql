-- Of each notification that counts, in microseconds: from when it was due to its effect's commit, and
-- from its outbox row's commit to its entry's arrival.  $1: of this shard only; -1: of all.
SELECT bench.us(i.xid) - s.at_us, a.at_us - bench.us(o.xid)
FROM bench.sent AS s
JOIN effects.inbox AS i ON i.consumer = 'entitlements' AND i.source = s.store
    AND i.message_id = s.notification_id
JOIN intake.outbox AS o ON o.source = s.store AND o.message_id = s.notification_id
LEFT JOIN bench.arrived AS a ON a.id = o.id
WHERE $1::integer IN (-1, o.shard)
