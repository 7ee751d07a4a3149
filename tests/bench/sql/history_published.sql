-- bench.history messages of the last six days, published and applied, and forgotten by all but the
-- tables: ticks begin behind them.
SELECT intake.make_partition('outbox', d)
FROM (SELECT (now() AT TIME ZONE 'UTC')::date - n FROM generate_series(1, 6) AS n) AS t(d)
WHERE to_regclass('intake.' || intake.partition_name('outbox', d)) IS NULL;

INSERT INTO intake.outbox (shard, xid, source, message_id, type, subject, time, data, created_at)
SELECT n % 4, x.xid, 'bench', 'history-' || lpad(n::text, 9, '0'), 'purchase.renewed',
    'history//' || n / 5, t.at, '{}', t.at
FROM generate_series(1, current_setting('bench.history')::bigint) AS n,
    (SELECT intake.current_xid() AS xid OFFSET 0) AS x,
    LATERAL (SELECT now() - interval '6 days'
        + n * (interval '6 days' / current_setting('bench.history')::bigint)) AS t(at);

INSERT INTO effects.inbox (consumer, source, message_id, subject, shard, stream_id, delivered_at,
    processed_at, instance)
SELECT 'entitlements', source, message_id, subject, shard, '2-' || id, created_at, created_at, 'bench'
FROM intake.outbox
ORDER BY id
