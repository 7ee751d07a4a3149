-- $1 consumer  $2 shard
SELECT stream_id FROM effects.cursor WHERE consumer = $1 AND shard = $2::smallint
