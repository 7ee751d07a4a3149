-- bench.history notifications of the last six days, and what their purchases entitle to.  Keys ascend, as
-- they do for nobody: so that indexes are filled from one end.
INSERT INTO intake.notification (store, notification_id, kind, rank, store_purchase_id, occurred_at,
    received_at, xid)
SELECT 'stripe', 'evt_history_' || lpad(n::text, 9, '0'), 'unrecognized', 0,
    'sub_history_' || lpad((n / 5)::text, 9, '0'), t.at, t.at, x.xid
FROM generate_series(1, current_setting('bench.history')::bigint) AS n,
    (SELECT intake.current_xid() AS xid OFFSET 0) AS x,
    LATERAL (SELECT now() - interval '6 days'
        + n * (interval '6 days' / current_setting('bench.history')::bigint)) AS t(at);

INSERT INTO effects.entitlement (store, store_purchase_id, state, occurred_at, rank, notification_id,
    version)
SELECT 'stripe', 'sub_history_' || lpad(n::text, 9, '0'), 'active', now(), 0,
    'evt_history_' || lpad(n::text, 9, '0'), 1
FROM generate_series(1, current_setting('bench.history')::bigint / 5) AS n
