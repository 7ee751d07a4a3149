-- How far ahead partitions reach, and which are DEFAULT: their rows came too late or too early.
-- A bound is a time, or milliseconds since 1970.
-- $1 schema
WITH part AS (
	SELECT i.inhparent::regclass AS parent, i.inhrelid::regclass AS child,
	    pg_get_expr(c.relpartbound, c.oid) AS bound
	FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
	JOIN pg_class AS p ON p.oid = i.inhparent
	WHERE p.relkind = 'p' AND p.relnamespace = to_regnamespace($1)
), reach AS (
	SELECT parent, max(CASE WHEN b.upper ~ '^\d+$' THEN to_timestamp(b.upper::numeric / 1000)
	    ELSE b.upper::timestamptz END) AS until,
	    max(child::text) FILTER (WHERE bound = 'DEFAULT') AS fallback
	FROM part LEFT JOIN LATERAL (
	    SELECT (regexp_match(bound, 'TO \(''?([^'')]+)''?\)'))[1] AS upper) AS b
	    ON b.upper NOT IN ('MAXVALUE')
	GROUP BY parent
)
SELECT 'partitions ' || parent AS name, CASE
        WHEN until IS NULL OR until < clock_timestamp() + interval '1 day' THEN 'fail'
        WHEN until < clock_timestamp() + interval '7 days' THEN 'warn' ELSE 'ok' END AS level,
    parent || ' has partitions until ' || coalesce(to_char(until, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'never') AS what,
    'relays and producers make them 14 days ahead: see their logs for why they do not' AS advice,
    fallback
FROM reach ORDER BY parent::text
