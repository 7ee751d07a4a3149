-- $1 consumer  $2 shard
INSERT INTO effects.cursor (consumer, shard) VALUES ($1, $2::smallint) ON CONFLICT DO NOTHING
