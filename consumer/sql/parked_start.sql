-- $1 consumer  $2 shard  $3 source  $4 message id  $5 how often it was started before
-- $6 when it is due again, in ms
-- No row: somebody else moved it.
UPDATE effects.parked
SET state = 'retrying', starts = starts + 1, last_at = clock_timestamp(),
    next_at = clock_timestamp() + $6::float8 * interval '1 millisecond'
WHERE consumer = $1 AND shard = $2::smallint AND source = $3 AND message_id = $4
  AND starts = $5::integer AND state IN ('retrying', 'retry')
RETURNING starts
