-- $1 of notifications received longer ago than so many milliseconds  $2 at most so many
SELECT intake.forget_bodies($1::bigint, $2::integer) AS forgotten
