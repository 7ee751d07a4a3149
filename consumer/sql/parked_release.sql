-- $1 consumer  $2 instance  $3 shard  $4 source  $5 message id  $6 its starts  $7 the handler
-- No row: somebody else moved or marked it.
SELECT moved
FROM effects.release($1, $2, $3::smallint, $4, $5, $6::integer, $7::regprocedure) AS moved
WHERE moved
