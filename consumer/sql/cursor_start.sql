-- $1 consumer  $2 shard  $3 where it is thought to be  $4 the entry whose start is counted
-- $5 count no further than this and one
-- No row: somebody else has moved it.
UPDATE effects.cursor
SET starts = CASE WHEN starts_at = $4 THEN least(starts, $5::integer) + 1 ELSE 1 END, starts_at = $4
WHERE consumer = $1 AND shard = $2::smallint AND stream_id = $3
RETURNING starts
