-- $1 consumer  $2 shard  $3 source  $4 message id  $5 its starts  $6 its state from now on
-- $7 when it is due again, in ms  $8 the error  $9 its context, or NULL
-- No row: somebody else moved or marked it.
UPDATE effects.parked
SET state = $6, error = $8, context = $9, last_at = clock_timestamp(),
    next_at = clock_timestamp() + $7::float8 * interval '1 millisecond',
    history = effects.note(history,
        jsonb_build_object('at', clock_timestamp(), 'start', starts, 'error', $8::text))
WHERE consumer = $1 AND shard = $2::smallint AND source = $3 AND message_id = $4
  AND starts = $5::integer AND state = 'retrying'
RETURNING starts
