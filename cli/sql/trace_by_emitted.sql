-- What an application emitted under this id, with or without its source in front.  Reads all of outbox.
-- $1 what the user gave
SELECT source, message_id, id
FROM intake.outbox
WHERE (message_id = $1 OR source || '/' || message_id = $1) AND source NOT IN
    ('app_store', 'app_store_sandbox', 'google_play', 'stripe', 'stripe_test', 'manual')
ORDER BY id LIMIT 200
