-- Who should have applied everything.
-- $1 only this consumer, or NULL for all
SELECT DISTINCT consumer FROM effects.cursor WHERE consumer = coalesce($1, consumer) ORDER BY consumer
