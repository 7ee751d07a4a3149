-- $1 consumer  $2 shard
-- replay_from: NULL unless a replay may still go on (effects.is_replaying).
SELECT stream_id, CASE WHEN effects.is_replaying(stream_id, replay_at) THEN replay_from END AS replay_from
FROM effects.cursor WHERE consumer = $1 AND shard = $2::smallint
