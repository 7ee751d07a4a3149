-- One page of rows that were written for the first time, by id.
-- $1 only ids above this  $2 so many at most  $3 subject, or NULL for any
-- $4 written since, or NULL  $5 written until, or NULL
SELECT count(*) AS rows, max(id) AS last, array_agg(id) AS ids
FROM (SELECT id FROM intake.outbox
      WHERE id > $1 AND first_position IS NULL
        AND ($3::text IS NULL OR (subject = $3
            AND shard = intake.shard_of_subject($3, (SELECT shards FROM intake.setting))))
        AND created_at >= coalesce($4::timestamptz, '-infinity')
        AND created_at < coalesce($5::timestamptz, 'infinity')
      ORDER BY id LIMIT $2) AS r
