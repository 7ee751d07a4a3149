-- Functions of a schema that work with their owner's rights: that owner, and what it is; a fixed
-- search_path, nobody's by default.
-- $1 schema
SELECT 'function ' || w.name AS name, CASE WHEN f.problem = '' THEN 'ok' ELSE 'fail' END AS level,
    $1 || '.' || w.name || CASE WHEN f.problem = ''
        THEN ' is SECURITY DEFINER, of ' || f.owner ELSE ' ' || f.problem END AS what,
    CASE WHEN f.problem LIKE '%anybody%' THEN 'REVOKE ALL ON FUNCTION ' || $1 || '.' || w.name || ' FROM PUBLIC'
         ELSE 'create it again as in schema/, as the owner of the schema ' || $1 END AS advice
FROM (VALUES ('intake', 'receive'), ('intake', 'emit'), ('intake', 'republish'), ('intake', 'reprocess'),
    ('intake', 'make_partitions'), ('intake', 'tick_follows'), ('intake', 'drop_expired'),
    ('intake', 'lift_retained'), ('intake', 'sweep_default'), ('intake', 'retention_health'),
    ('intake', 'forget_bodies'), ('effects', 'mark'), ('effects', 'purge_inbox'),
    ('effects', 'forget_consumer')) AS w(schema, name)
LEFT JOIN LATERAL (
	SELECT pg_get_userbyid(p.proowner) AS owner, CASE
	    WHEN NOT p.prosecdef THEN 'is not SECURITY DEFINER'
	    WHEN p.proowner <> n.nspowner THEN 'belongs to ' || pg_get_userbyid(p.proowner)
	        || ', and the schema to ' || pg_get_userbyid(n.nspowner)
	    WHEN NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)
	        THEN 'has no fixed search_path'
	    WHEN p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) WHERE grantee = 0)
	        THEN 'may be called by anybody'
	    ELSE '' END AS problem
	FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
	WHERE n.nspname = $1 AND p.proname = w.name
	UNION ALL SELECT NULL, 'is missing' LIMIT 1) AS f ON true
WHERE w.schema = $1
UNION ALL
SELECT 'owner', CASE WHEN r.rolsuper THEN 'warn' ELSE 'ok' END,
    $1 || ' belongs to ' || r.rolname || CASE WHEN r.rolsuper
        THEN ', a superuser: its SECURITY DEFINER functions may do anything' ELSE '' END,
    'make a role that owns umavez and nothing else, give it the schema and all that is in it'
        || ' (ALTER ... OWNER TO), and run umavez migrate as that role from then on'
FROM pg_namespace AS n JOIN pg_roles AS r ON r.oid = n.nspowner WHERE n.nspname = $1
UNION ALL
SELECT 'sequence', CASE WHEN s.seqcache = 1 AND NOT s.seqcycle THEN 'ok' ELSE 'fail' END,
    'intake.outbox.id has a cache of ' || s.seqcache,
    'ALTER SEQUENCE ' || s.seqrelid::regclass || ' CACHE 1 NO CYCLE: sessions that draw ids in blocks break the order of a purchase''s events'
FROM pg_sequence AS s
WHERE $1 = 'intake' AND s.seqrelid = CASE WHEN $1 = 'intake'
    THEN pg_get_serial_sequence('intake.outbox', 'id')::regclass END
