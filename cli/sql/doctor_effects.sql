-- Messages that were given up.
SELECT 'dead letters' AS name, CASE WHEN count(*) > 0 THEN 'warn' ELSE 'ok' END AS level,
    count(*) || CASE count(*) WHEN 1 THEN ' message has' ELSE ' messages have' END || ' failed' AS what,
    'umavez dead-letter list says why; retry them when the cause is gone, or discard them' AS advice
FROM effects.parked WHERE state = 'failed'
