-- The server that a schema lives on.
SELECT 'version' AS name, CASE WHEN v.n < 150000 THEN 'fail' ELSE 'ok' END AS level,
    'PostgreSQL ' || current_setting('server_version') AS what,
    'umavez needs PostgreSQL 15 or newer' AS advice
FROM (SELECT current_setting('server_version_num')::integer AS n) AS v
UNION ALL
SELECT s.name, CASE WHEN s.setting = 'on' THEN 'ok' ELSE 'fail' END, s.name || ' = ' || s.setting,
    'ALTER SYSTEM SET ' || s.name || ' = on: without it a crash may lose what was answered with 200'
FROM pg_settings AS s WHERE s.name IN ('fsync', 'full_page_writes')
UNION ALL
-- umavez's own sessions set it; what other applications emit goes by the default.
SELECT s.name, CASE WHEN s.reset_val IN ('off', 'local') THEN 'warn' ELSE 'ok' END,
    s.name || ' = ' || s.reset_val || ' by default',
    'ALTER SYSTEM SET synchronous_commit = on: umavez sets it for itself, but events that others emit may be lost in a crash'
FROM pg_settings AS s WHERE s.name = 'synchronous_commit'
UNION ALL
SELECT 'transactions', CASE WHEN o.since < clock_timestamp() - interval '1 hour' THEN 'warn' ELSE 'ok' END,
    coalesce('the oldest transaction began at ' || to_char(o.since, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        || ', process ' || o.pid, 'no other transaction'),
    'end it (pg_terminate_backend): it holds back retention and vacuum'
FROM (SELECT true) AS one LEFT JOIN (SELECT pid, xact_start AS since FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
    ORDER BY xact_start LIMIT 1) AS o ON true
UNION ALL
SELECT 'role ' || rolname, 'fail', rolname || ' is ' || CASE WHEN rolsuper THEN 'a superuser'
        WHEN rolbypassrls THEN 'BYPASSRLS' ELSE 'CREATEROLE' END,
    'ALTER ROLE ' || rolname || ' NOSUPERUSER NOCREATEROLE NOBYPASSRLS'
FROM pg_roles WHERE rolname LIKE 'umavez\_%' AND (rolsuper OR rolcreaterole OR rolbypassrls)
