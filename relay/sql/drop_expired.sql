-- At most one partition, in a transaction of its own.
-- $1 keep those that ended within so many milliseconds
SELECT dropped, held, reason FROM intake.drop_expired($1::bigint)
