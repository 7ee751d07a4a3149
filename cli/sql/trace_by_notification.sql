-- Notifications with this id, with or without their store in front: store/id.
-- $1 what the user gave
SELECT store AS source, notification_id AS message_id, NULL AS id
FROM intake.notification
WHERE notification_id = $1 AND store IN
    ('app_store', 'app_store_sandbox', 'google_play', 'stripe', 'stripe_test', 'manual')
UNION ALL
SELECT store, notification_id, NULL
FROM intake.notification
WHERE strpos($1, '/') > 0 AND store = split_part($1, '/', 1)
  AND notification_id = ltrim(substr($1, strpos($1, '/')), '/')
