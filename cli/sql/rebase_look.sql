-- Which cluster this is, which one the outbox was written in, and who is still at work.
SELECT s.system_identifier AS expected, c.system_identifier AS actual,
    s.system_identifier = c.system_identifier
        AND (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + s.xid_offset)::text::xid8 >= s.xid_floor AS same,
    (SELECT string_agg(w.who, ', ' ORDER BY w.who) FROM (
        SELECT 'relay ' || holder FROM intake.instance WHERE expires_at > clock_timestamp()
        UNION
        SELECT 'relay ' || holder FROM intake.shard_lease WHERE expires_at > clock_timestamp()
        UNION
        SELECT coalesce(nullif(a.application_name, ''), 'a session') || ' of ' || a.usename
        FROM pg_stat_activity AS a JOIN pg_roles AS u ON u.oid = a.usesysid
        WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
          AND (a.application_name ~ '^umavez-(producer|relay)' OR (NOT u.rolsuper AND EXISTS (
              SELECT FROM pg_roles AS r WHERE r.rolname IN ('umavez_producer', 'umavez_relay', 'umavez_emitter')
                AND pg_has_role(u.oid, r.oid, 'MEMBER'))))) AS w(who)) AS busy
FROM intake.setting AS s CROSS JOIN pg_control_system() AS c
