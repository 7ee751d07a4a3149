-- Messages that could not be applied, by what becomes of them.
SELECT count(*) FILTER (WHERE state = 'failed') AS failed,
    count(*) FILTER (WHERE state IN ('retrying', 'retry', 'discard')) AS retrying,
    count(*) FILTER (WHERE state = 'held') AS held
FROM effects.parked
