-- $1 the handler's name, as the user wrote it
-- Its schema, when the consumer may not look into it, and the role to be let in.
SELECT quote_ident(n.nspname) AS schema,
    CASE WHEN pg_has_role(to_regrole('umavez_consumer'), 'USAGE') THEN 'umavez_consumer'
        ELSE quote_ident(current_user) END AS grantee
FROM pg_namespace AS n
WHERE n.nspname = (parse_ident($1, false))[1] AND NOT has_schema_privilege(n.oid, 'USAGE')
