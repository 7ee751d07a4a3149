-- The outbox rows of one message id, by its notification or, of an emitted event, by reading all of
-- outbox; one row a source.
-- $1 message id  $2 source, or NULL for any
SELECT n.store AS source, o.id
FROM intake.notification AS n
JOIN intake.outbox AS o ON o.xid = n.xid AND o.source = n.store AND o.message_id = n.notification_id
    AND o.shard = intake.shard_of_subject(
        intake.subject_of(n.store, n.store_purchase_id, n.notification_id),
        (SELECT shards FROM intake.setting))
WHERE n.notification_id = $1 AND n.store IN
    ('app_store', 'app_store_sandbox', 'google_play', 'stripe', 'stripe_test', 'manual')
  AND n.store = coalesce($2, n.store)
UNION ALL
SELECT source, min(id)
FROM intake.outbox
WHERE message_id = $1 AND source = coalesce($2, source) AND source NOT IN
    ('app_store', 'app_store_sandbox', 'google_play', 'stripe', 'stripe_test', 'manual')
GROUP BY source
