-- Forget a group: trimming waits for it no longer.
-- $1 name  $2 shard
-- Writes stream_group.
DELETE FROM intake.stream_group WHERE name = $1 AND shard = $2
