-- Outbox rows that are too young to be judged.  now() is stable: old partitions are not read.
-- $1 younger than this, in ms
SELECT count(*) AS rows FROM intake.outbox WHERE created_at > now() - $1::bigint * interval '1 ms'
