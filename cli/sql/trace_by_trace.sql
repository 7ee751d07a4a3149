-- What carries a trace id, newest last.  Reads all of notification and outbox.
-- $1 trace id
(SELECT store AS source, notification_id AS message_id, NULL::bigint AS id, received_at AS at
 FROM intake.notification WHERE substr(traceparent, 4, 32) = lower($1)
 UNION ALL
 SELECT source, message_id, min(id), min(created_at)
 FROM intake.outbox WHERE substr(traceparent, 4, 32) = lower($1) AND source NOT IN
     ('app_store', 'app_store_sandbox', 'google_play', 'stripe', 'stripe_test', 'manual')
 GROUP BY source, message_id)
ORDER BY at LIMIT 200
