SELECT effects.release($1, $2, $3::smallint, $4, $5, $6::integer, $7::regprocedure) AS moved
