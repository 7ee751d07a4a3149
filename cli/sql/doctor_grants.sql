-- Rights that schema/roles.sql does not give.
-- $1 the text of roles.sql  $2 schema
WITH line AS MATERIALIZED (
	SELECT split_part(g, ' ON ', 1) AS privileges, split_part(split_part(g, ' ON ', 2), ' TO ', 1) AS objects,
	    split_part(g, ' TO ', 2) AS roles
	FROM string_to_table(regexp_replace(regexp_replace($1, '--[^\n]*', '', 'g'), '\s+', ' ', 'g'), ';') AS statement,
	    substr(statement, strpos(statement, 'GRANT ') + 6) AS g
	WHERE strpos(statement, 'GRANT ') > 0
), given AS MATERIALIZED (
	SELECT c.privilege, trim(regexp_replace(o, '^\s*(FUNCTION|SCHEMA)\s+', '')) AS object,
	    trim(r) AS role
	FROM line, regexp_split_to_table(privileges, ',\s*(?![^(]*\))') AS p,
	    LATERAL (SELECT CASE WHEN p LIKE '%(%' THEN split_part(p, ' ', 1) || ' (' || trim(name) || ')'
	        ELSE trim(p) END AS privilege
	        FROM regexp_split_to_table(coalesce(substring(p FROM '\((.*)\)'), ''), ',') AS name) AS c,
	    regexp_split_to_table(objects, '\s*,\s*') AS o, regexp_split_to_table(roles, '\s*,\s*') AS r
), has AS MATERIALIZED (
	SELECT a.grantee, a.privilege_type AS privilege, n.nspname || '.' || c.relname AS object,
	    c.relowner AS owner
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace, aclexplode(c.relacl) AS a
	WHERE n.nspname = $2 AND c.relkind IN ('r', 'p')
	UNION ALL
	SELECT a.grantee, a.privilege_type || ' (' || t.attname || ')', n.nspname || '.' || c.relname,
	    c.relowner
	FROM pg_attribute AS t JOIN pg_class AS c ON c.oid = t.attrelid
	JOIN pg_namespace AS n ON n.oid = c.relnamespace, aclexplode(t.attacl) AS a
	WHERE n.nspname = $2
	UNION ALL
	SELECT a.grantee, a.privilege_type, n.nspname || '.' || p.proname, p.proowner
	FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace, aclexplode(p.proacl) AS a
	WHERE n.nspname = $2 AND p.prosecdef
	UNION ALL
	SELECT a.grantee, a.privilege_type, n.nspname, n.nspowner
	FROM pg_namespace AS n, aclexplode(n.nspacl) AS a WHERE n.nspname = $2
), broad AS (
	SELECT CASE WHEN h.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(h.grantee) END AS role,
	    h.privilege, h.object
	FROM has AS h
	WHERE h.grantee <> h.owner AND NOT EXISTS (SELECT FROM given AS g
	    WHERE g.role = pg_get_userbyid(h.grantee)
	      AND g.privilege IN (h.privilege, split_part(h.privilege, ' (', 1))
	      AND g.object IN (h.object, 'ALL TABLES IN ' || $2, 'ALL TABLES IN SCHEMA ' || $2))
	-- Reading is nobody's promise, unless a role is meant not to.
	  AND (h.privilege NOT IN ('SELECT', 'USAGE') OR pg_get_userbyid(h.grantee) LIKE 'umavez\_%')
)
SELECT 'rights' AS name, CASE WHEN role = 'PUBLIC' OR role LIKE 'umavez\_%'
        OR bool_or(object = 'intake.outbox') THEN 'fail' ELSE 'warn' END AS level,
    role || ' has ' || string_agg(privilege || ' on ' || object, ', ' ORDER BY object, privilege) AS what,
    'REVOKE what it does not need; umavez migrate --roles gives the umavez roles what they do' AS advice
FROM broad GROUP BY role
UNION ALL
SELECT 'rights', 'ok', 'no role has more on ' || $2 || ' than schema/roles.sql gives', ''
WHERE NOT EXISTS (SELECT FROM broad)
