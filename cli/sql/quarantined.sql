-- One page of quarantined notifications, by key.
-- $1, $2 only after this store and id  $3 only this store, or NULL  $4 only this id, or NULL
SELECT store, notification_id, remark, body, (extract(epoch FROM received_at) * 1000)::bigint AS received_ms
FROM intake.notification
WHERE kind = 'unrecognized' AND (store, notification_id) > ($1, $2)
  AND store = coalesce($3, store) AND notification_id = coalesce($4, notification_id)
ORDER BY store, notification_id LIMIT 20
