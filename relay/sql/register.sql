-- Remember the groups of a stream, and give every group ever seen on it.
-- $1 shard  $2 names
-- Writes stream_group.
WITH new AS (
	INSERT INTO intake.stream_group (shard, name)
	SELECT $1, name FROM unnest($2::text[]) AS name ORDER BY name COLLATE "C"
	ON CONFLICT DO NOTHING
	RETURNING name
)
SELECT name, true AS is_new FROM new
UNION ALL
SELECT name, false FROM intake.stream_group WHERE shard = $1
