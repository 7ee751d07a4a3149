-- $1 consumer  $2 shard
SELECT count(*) AS n FROM effects.parked WHERE consumer = $1 AND shard = $2::smallint AND state = 'failed'
