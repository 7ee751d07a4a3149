-- $1 keep rows of so many milliseconds  $2 at most so many rows of each shard and table
SELECT intake.sweep_default($1::bigint, $2::integer) AS removed
