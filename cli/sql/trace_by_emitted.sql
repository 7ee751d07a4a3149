-- What an application emitted under this id, with or without its source in front.  Its first row
-- stands for all that have its id.  Reads all of outbox.
-- $1 what the user gave
SELECT source, message_id, min(id) AS id
FROM intake.outbox
WHERE (message_id = $1 OR source || '/' || message_id = $1) AND source NOT IN
    ('app_store', 'app_store_sandbox', 'google_play', 'stripe', 'stripe_test', 'manual')
GROUP BY source, message_id ORDER BY id LIMIT 200
