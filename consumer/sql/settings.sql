-- $1 the handler's name, as the user wrote it
-- handler is NULL when there is no such function, or when it is none that a SELECT can call once an event.
SELECT s.shards,
    (SELECT format('%I.%I(json)', n.nspname, p.proname)
     FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
     WHERE p.oid = to_regprocedure($1 || '(json)') AND p.prokind = 'f' AND NOT p.proretset) AS handler
FROM effects.setting AS s
