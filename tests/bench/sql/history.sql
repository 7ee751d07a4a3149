-- bench.history notifications and messages of the last six days, published and applied, and forgotten
-- by all but the tables: ticks begin behind them.
SELECT intake.make_partition('outbox', d)
FROM (SELECT (now() AT TIME ZONE 'UTC')::date - n FROM generate_series(1, 6) AS n) AS t(d)
WHERE to_regclass('intake.' || intake.partition_name('outbox', d)) IS NULL;

INSERT INTO intake.notification (store, notification_id, kind, rank, store_purchase_id, occurred_at,
    received_at, xid)
SELECT 'stripe', 'evt_history_' || n, 'unrecognized', 0, 'sub_history_' || n / 5, t.at, t.at, x.xid
FROM generate_series(1, current_setting('bench.history')::bigint) AS n,
    (SELECT intake.current_xid() AS xid OFFSET 0) AS x,
    LATERAL (SELECT now() - n % 6 * interval '1 day') AS t(at);

INSERT INTO intake.outbox (shard, xid, source, message_id, type, subject, time, data, created_at)
SELECT n % 4, x.xid, 'bench', 'history-' || n, 'purchase.renewed', 'history//' || n / 5, t.at, '{}', t.at
FROM generate_series(1, current_setting('bench.history')::bigint) AS n,
    (SELECT intake.current_xid() AS xid OFFSET 0) AS x,
    LATERAL (SELECT now() - n % 6 * interval '1 day') AS t(at);

INSERT INTO effects.inbox (consumer, source, message_id, subject, shard, stream_id, delivered_at,
    processed_at, instance)
SELECT 'entitlements', source, message_id, subject, shard, '2-' || id, created_at, created_at, 'bench'
FROM intake.outbox;

INSERT INTO effects.entitlement (store, store_purchase_id, state, occurred_at, rank, notification_id,
    version)
SELECT 'stripe', 'sub_history_' || n, 'active', now(), 0, 'evt_history_' || n, 1
FROM generate_series(1, current_setting('bench.history')::bigint / 5) AS n
