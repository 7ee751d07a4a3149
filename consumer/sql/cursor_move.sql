-- $1 consumer  $2 shard  $3 where it is thought to be  $4 where it goes
-- No row: somebody else has moved it.
UPDATE effects.cursor
SET stream_id = $4, starts_at = NULL, starts = 0
WHERE consumer = $1 AND shard = $2::smallint AND stream_id = $3
RETURNING stream_id
