-- $1 consumer  $2 shard  $3 the announced floor  $4 keep rows of so many milliseconds
-- $5 only rows processed after this  $6 look at so many
SELECT purged, looked_up_to
FROM effects.purge_inbox($1, $2::smallint, $3, $4::bigint, $5::timestamptz, $6::integer)
