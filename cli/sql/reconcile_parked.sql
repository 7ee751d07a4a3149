-- Which of the missing are parked; the others are given on.  In the snapshot of reconcile_applied.sql.
-- $1 the missing  $2 consumer
SELECT count(*) FILTER (WHERE p.state IN ('retrying', 'retry', 'discard')) AS retrying,
    count(*) FILTER (WHERE p.state = 'held') AS held,
    count(*) FILTER (WHERE p.state = 'failed') AS failed,
    json_agg(m.row) FILTER (WHERE p.message_id IS NULL) AS missing
FROM json_array_elements($1::json) AS m(row)
LEFT JOIN effects.parked AS p ON p.consumer = $2 AND p.source = m.row ->> 'source'
    AND p.message_id = m.row ->> 'message_id'
