-- What intake knows of one message.
-- $1 source  $2 message id  $3 outbox id, or NULL: that of the notification (found by its xid)
WITH message AS (
	SELECT n.store, n.store_purchase_id, n.kind, n.native_type, n.remark, n.traceparent, n.received_at,
	    o.outbox_id, o.shard, o.type, o.outbox_traceparent, o.created_at,
	    o.first_position, coalesce(o.outbox_xid, n.xid) AS written_by
	FROM (SELECT $1::text AS source, $2::text AS message_id, $3::bigint AS id) AS k
	LEFT JOIN intake.notification AS n
	    ON n.store = k.source AND n.notification_id = k.message_id
	LEFT JOIN LATERAL (
		SELECT o.id AS outbox_id, o.shard, o.xid AS outbox_xid, o.type,
		    o.traceparent AS outbox_traceparent, o.created_at, o.first_position
		FROM intake.outbox AS o
		WHERE o.id = k.id AND o.source = k.source AND o.message_id = k.message_id
		UNION ALL
		SELECT o.id, o.shard, o.xid, o.type, o.traceparent, o.created_at, o.first_position
		FROM intake.outbox AS o
		WHERE k.id IS NULL AND o.xid = n.xid AND o.source = n.store
		  AND o.message_id = n.notification_id
		  AND o.shard = intake.shard_of_subject(
		      intake.subject_of(n.store, n.store_purchase_id, n.notification_id),
		      (SELECT shards FROM intake.setting))) AS o ON true
)
SELECT m.store IS NOT NULL AS is_notification, m.outbox_id IS NOT NULL AS has_row,
    $1 NOT IN ('app_store', 'app_store_sandbox', 'google_play', 'stripe', 'stripe_test', 'manual') AS is_emitted,
    m.kind, m.native_type, m.remark, m.type, m.outbox_id, m.first_position, m.shard, m.written_by AS xid,
    substr(coalesce(m.traceparent, m.outbox_traceparent), 4, 32) AS trace_id,
    intake.purchase_json(p) AS purchase,
    (extract(epoch FROM m.received_at) * 1000)::bigint AS received_ms,
    (extract(epoch FROM coalesce(c.at, m.created_at,
        CASE WHEN m.kind = 'unrecognized' THEN m.received_at END)) * 1000)::bigint AS committed_ms,
    (extract(epoch FROM t.at) * 1000)::bigint AS last_tick_ms,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms,
    CASE WHEN l.expires_at > clock_timestamp() THEN l.holder END AS relay
FROM message AS m
LEFT JOIN intake.purchase AS p
    ON p.store = m.store AND p.store_purchase_id = m.store_purchase_id
LEFT JOIN intake.shard_lease AS l ON l.shard = m.shard
LEFT JOIN LATERAL (SELECT at FROM intake.tick WHERE shard = m.shard ORDER BY tick DESC LIMIT 1) AS t
    ON true
-- One step after the other: each function raises where the one before says no.
CROSS JOIN LATERAL (SELECT CASE
    WHEN NOT current_setting('track_commit_timestamp')::boolean THEN NULL
    WHEN (SELECT xid_offset FROM intake.setting) <> 0 THEN NULL -- not this cluster's numbers
    WHEN m.written_by >= pg_snapshot_xmax(pg_current_snapshot()) THEN NULL
    WHEN pg_xact_status(m.written_by) = 'committed' THEN pg_xact_commit_timestamp(m.written_by::xid)
    END AS at) AS c
