-- What waits behind a parked message, in order.
-- $1 consumer  $2 source  $3 message id  $4 at most
SELECT b.source, b.message_id, b.state
FROM effects.parked AS p
JOIN effects.parked AS b ON b.consumer = p.consumer AND b.shard = p.shard AND b.subject = p.subject
    AND hashtextextended(b.subject, 0) = hashtextextended(p.subject, 0) AND b.place > p.place
WHERE p.consumer = $1 AND p.source = $2 AND p.message_id = $3
ORDER BY b.place
LIMIT $4::bigint
