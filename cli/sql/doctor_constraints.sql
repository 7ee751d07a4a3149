-- The constraints that hold the promises: as they were made, valid, and checked at once.
-- $1 schema
SELECT 'constraint ' || w.name AS name,
    CASE WHEN c.oid IS NULL OR pg_get_constraintdef(c.oid) <> w.definition
              OR NOT c.convalidated OR c.condeferrable OR NOT i.indisvalid OR NOT i.indisunique
         THEN 'fail' ELSE 'ok' END AS level,
    w.promise || ': ' || $1 || '.' || w.tablename || CASE
        WHEN c.oid IS NULL THEN ' has no constraint of that name'
        WHEN pg_get_constraintdef(c.oid) <> w.definition THEN ' has ' || pg_get_constraintdef(c.oid)
        WHEN c.condeferrable THEN ': it is deferrable'
        WHEN NOT c.convalidated OR NOT i.indisvalid OR NOT i.indisunique THEN ': it is not valid'
        ELSE ' ' || w.definition END AS what,
    'nothing holds promise ' || w.promise || ': stop the services, look for duplicates, then ALTER TABLE '
        || $1 || '.' || w.tablename || ' ADD CONSTRAINT ' || w.name || ' ' || w.definition AS advice
FROM (VALUES
    ('intake', 'P1', 'notification', 'notification_pkey', 'PRIMARY KEY (store, notification_id)'),
    ('intake', 'P2', 'purchase', 'purchase_pkey', 'PRIMARY KEY (store, store_purchase_id)'),
    ('intake', 'P8', 'tick', 'tick_pkey', 'PRIMARY KEY (shard, previous_tick)'),
    ('effects', 'P9', 'inbox', 'inbox_pkey', 'PRIMARY KEY (consumer, source, message_id)'),
    ('effects', 'P10', 'cursor', 'cursor_pkey', 'PRIMARY KEY (consumer, shard)'),
    ('effects', 'P9', 'ledger', 'ledger_store_transaction_id_kind_key',
        'UNIQUE (store, transaction_id, kind)')) AS w(schema, promise, tablename, name, definition)
LEFT JOIN pg_constraint AS c ON c.conrelid = to_regclass($1 || '.' || w.tablename) AND c.conname = w.name
LEFT JOIN pg_index AS i ON i.indexrelid = c.conindid
WHERE w.schema = $1
ORDER BY w.promise, w.name
