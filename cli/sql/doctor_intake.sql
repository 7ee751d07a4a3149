-- The deployment: its cluster, its gaps, what is quarantined, and whether both schemas belong to it.
-- $1 shards that effects knows, or NULL where it is not at hand
SELECT 'cluster' AS name, CASE WHEN s.system_identifier = c.system_identifier THEN 'ok' ELSE 'fail' END AS level,
    CASE WHEN s.system_identifier = c.system_identifier THEN 'cluster ' || c.system_identifier
         ELSE 'this is cluster ' || c.system_identifier || ', the outbox was written in '
             || s.system_identifier END AS what,
    'connect to the right server; if this one replaces it, stop the services and run umavez rebase' AS advice
FROM intake.setting AS s CROSS JOIN pg_control_system() AS c
UNION ALL
SELECT 'gaps', CASE WHEN count(*) > 0 THEN 'fail' ELSE 'ok' END,
    count(*) || CASE count(*) WHEN 1 THEN ' time' ELSE ' times' END || ' a stream went on behind rows that were no longer retained',
    'umavez reconcile tells where; raise --retention, or bring groups and Redis back sooner; umavez reconcile --forget-gaps'
FROM intake.gap
UNION ALL
SELECT 'quarantine', CASE WHEN count(*) > 0 THEN 'warn' ELSE 'ok' END,
    count(*) || CASE count(*) WHEN 1 THEN ' notification was' ELSE ' notifications were' END || ' not understood',
    'umavez reprocess, as the owner of the schema, says why and tries this version''s parsers'
FROM intake.notification WHERE kind = 'unrecognized'
UNION ALL
SELECT 'shards', CASE WHEN d.shards = $1::smallint THEN 'ok' ELSE 'fail' END,
    'intake has ' || d.shards || ' shards, effects ' || $1,
    'the two schemas do not belong together: check --effects-database-url'
FROM intake.setting AS d WHERE $1 IS NOT NULL
