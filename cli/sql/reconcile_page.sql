-- One page of outbox rows, by id; reconcile_applied.sql takes it as it is.
-- $1 only ids above this  $2 at least so old, in ms  $3 so many at most
SELECT count(*) AS rows, count(first_position) AS again, max(id) AS last, json_agg(r) AS page
FROM (SELECT id, source, message_id, subject, shard, created_at, first_position
      FROM intake.outbox
      WHERE id > $1 AND created_at <= clock_timestamp() - $2::bigint * interval '1 ms'
      ORDER BY id LIMIT $3) AS r
