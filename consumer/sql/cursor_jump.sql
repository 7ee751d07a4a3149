-- $1 consumer  $2 shard  $3 where it is thought to be  $4 where a replay begins
-- A replay within a replay began where the first one did: what that brought is not complete.
-- No row: somebody else has moved it.
UPDATE effects.cursor
SET stream_id = $4, starts_at = NULL, starts = 0, replay_at = $4,
    replay_from = CASE WHEN effects.is_replaying(stream_id, replay_at) THEN replay_from ELSE stream_id END
WHERE consumer = $1 AND shard = $2::smallint AND stream_id = $3
RETURNING stream_id
