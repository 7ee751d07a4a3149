-- The notifications of a purchase, with or without its store in front, newest last: 200 of them.
-- $1 what the user gave
SELECT source, message_id, NULL AS id
FROM (
	(SELECT store AS source, notification_id AS message_id, occurred_at, rank
	 FROM intake.notification
	 WHERE store_purchase_id = $1 AND store IN
	     ('app_store', 'app_store_sandbox', 'google_play', 'stripe', 'stripe_test', 'manual')
	 UNION ALL
	 SELECT store, notification_id, occurred_at, rank
	 FROM intake.notification
	 WHERE strpos($1, '/') > 0 AND store = split_part($1, '/', 1)
	   AND store_purchase_id = substr($1, strpos($1, '/') + 1))
	ORDER BY occurred_at DESC, rank DESC, message_id DESC LIMIT 200) AS newest
ORDER BY occurred_at, rank, message_id
