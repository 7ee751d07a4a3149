-- What must hold when everything sent has been answered and applied: one view for each promise, which
-- gives a line for each thing that breaks it.  intake_*: after receiving; stream_*: after publishing;
-- effects_*: after applying.

CREATE VIEW witness.intake_lost AS
SELECT format('%s %s', a.store, a.notification_id) AS what
FROM witness.answered AS a LEFT JOIN intake.notification AS n USING (store, notification_id)
WHERE n.store IS NULL;
COMMENT ON VIEW witness.intake_lost IS 'P4: what was answered with 200 is kept';

CREATE VIEW witness.intake_outcomes AS
SELECT format('%s %s: sent %s, accepted %s, duplicate %s', store, notification_id, sends, accepted,
    duplicates) AS what
FROM witness.answered
WHERE accepted > 1 OR (accepted = 0 AND duplicates = sends);
COMMENT ON VIEW witness.intake_outcomes IS 'P1: one delivery is accepted, every other one is a duplicate';

CREATE VIEW witness.intake_told AS
SELECT format('%s %s: %s outbox rows, xid %s and %s', n.store, n.notification_id, count(o.id), n.xid,
    string_agg(o.xid::text, ' ')) AS what
FROM intake.notification AS n
LEFT JOIN intake.outbox AS o ON o.source = n.store AND o.message_id = n.notification_id
    AND o.first_position IS NULL
WHERE n.kind <> 'unrecognized'
GROUP BY n.store, n.notification_id, n.xid
HAVING count(o.id) <> 1 OR bool_or(o.xid <> n.xid);
COMMENT ON VIEW witness.intake_told IS 'P3: a notification has one outbox row, of the same transaction; and others if it was republished';

CREATE VIEW witness.intake_invented AS
SELECT format('outbox %s: %s %s', o.id, o.source, o.message_id) AS what
FROM intake.outbox AS o
LEFT JOIN intake.notification AS n ON n.store = o.source AND n.notification_id = o.message_id
WHERE split_part(o.subject, '/', 1) = o.source AND (n.store IS NULL OR n.kind = 'unrecognized');
COMMENT ON VIEW witness.intake_invented IS 'P3: an outbox row of a store has its notification';

CREATE VIEW witness.intake_purchase AS
SELECT format('%s %s: xid %s, newest outbox row %s', p.store, p.store_purchase_id, p.xid, o.xid) AS what
FROM intake.purchase AS p
FULL JOIN (SELECT DISTINCT ON (subject) subject, xid FROM intake.outbox
    WHERE subject NOT LIKE '%//%' AND first_position IS NULL ORDER BY subject, id DESC) AS o
    ON o.subject = p.store || '/' || p.store_purchase_id
WHERE p.xid IS DISTINCT FROM o.xid;
COMMENT ON VIEW witness.intake_purchase IS 'P3: a purchase was last written with its newest outbox row';

CREATE VIEW witness.intake_fold AS
SELECT format('%s %s is %s, its notifications give %s', p.store, p.store_purchase_id, p, f.f) AS what
FROM intake.purchase AS p
LEFT JOIN (
	SELECT store, store_purchase_id, intake.fold(n ORDER BY occurred_at, rank, notification_id) AS f
	FROM intake.notification AS n
	WHERE store_purchase_id IS NOT NULL AND kind <> 'unrecognized'
	GROUP BY store, store_purchase_id) AS f USING (store, store_purchase_id)
WHERE (p.product_id, p.account_ref, p.state, p.will_renew, p.expires_at, p.transaction_id,
       p.amount_minor, p.currency, p.occurred_at, p.rank, p.last_notification_id)
    IS DISTINCT FROM
    ((f.f).product_id, (f.f).account_ref, (f.f).state, (f.f).will_renew, (f.f).expires_at,
     (f.f).transaction_id, (f.f).amount_minor, (f.f).currency, (f.f).occurred_at, (f.f).rank,
     (f.f).last_notification_id);
COMMENT ON VIEW witness.intake_fold IS 'P2: a purchase is the fold of its notifications, whatever order they came in';

CREATE VIEW witness.stream_missing AS
SELECT format('outbox %s: %s %s, shard %s', o.id, o.source, o.message_id, o.shard) AS what
FROM intake.outbox AS o LEFT JOIN witness.entry AS e USING (shard, id)
WHERE e.id IS NULL;
COMMENT ON VIEW witness.stream_missing IS 'P5: every outbox row is in its stream';

CREATE VIEW witness.stream_gap AS
SELECT format('outbox %s: %s %s, shard %s', o.id, o.source, o.message_id, o.shard) AS what
FROM intake.outbox AS o
JOIN (SELECT DISTINCT ON (shard) shard, tick FROM witness.entry ORDER BY shard, place) AS first USING (shard)
JOIN intake.tick AS t USING (shard, tick)
LEFT JOIN witness.entry AS e ON e.shard = o.shard AND e.id = o.id
WHERE e.id IS NULL AND NOT pg_visible_in_snapshot(o.xid, t.snapshot);
COMMENT ON VIEW witness.stream_gap IS 'P5: behind its first entry a stream has no gap, trimmed or not';

CREATE VIEW witness.stream_repeated AS
SELECT format('outbox %s in shard %s at %s', id, shard, string_agg(tick || '-' || id, ' ')) AS what
FROM witness.entry
GROUP BY shard, id HAVING count(*) > 1;
COMMENT ON VIEW witness.stream_repeated IS 'P6: no row is published under two positions';

CREATE VIEW witness.stream_content AS
SELECT format('shard %s %s-%s: %s %s', e.shard, e.tick, e.id, e.source, e.message_id) AS what
FROM witness.entry AS e LEFT JOIN intake.outbox AS o USING (shard, id)
WHERE (e.source, e.message_id, e.type, e.subject, e.time::timestamptz, e.traceparent, e.data::jsonb)
    IS DISTINCT FROM
    (o.source, o.message_id, o.type, o.subject, o.time, o.traceparent, o.data::jsonb);
COMMENT ON VIEW witness.stream_content IS 'P6: an entry is the image of the row that its ID names';

CREATE VIEW witness.stream_tick AS
SELECT format('shard %s %s-%s, xid %s: tick %s, previous %s', e.shard, e.tick, e.id, o.xid, t.snapshot,
    p.snapshot) AS what
FROM witness.entry AS e JOIN intake.outbox AS o USING (shard, id)
LEFT JOIN intake.tick AS t ON t.shard = e.shard AND t.tick = e.tick
LEFT JOIN intake.tick AS p ON p.shard = e.shard AND p.tick = t.previous_tick
WHERE t.tick IS NULL OR NOT pg_visible_in_snapshot(o.xid, t.snapshot)
   OR (t.from_tick IS NULL AND pg_visible_in_snapshot(o.xid, p.snapshot));
COMMENT ON VIEW witness.stream_tick IS 'P5: an entry belongs to the first tick that sees its row';

CREATE VIEW witness.stream_order AS
SELECT format('shard %s: %s-%s after %s-%s', shard, tick, id, last_tick, last_id) AS what
FROM (
	SELECT *, lag(tick) OVER in_order AS last_tick, lag(id) OVER in_order AS last_id
	FROM witness.entry WINDOW in_order AS (PARTITION BY shard ORDER BY place)) AS e
WHERE (last_tick, last_id) >= (tick, id);
COMMENT ON VIEW witness.stream_order IS 'P5: a stream is in tick order, and by id within a tick';

CREATE VIEW witness.stream_subject AS
SELECT format('%s: outbox %s before %s', subject, last_id, id) AS what
FROM (
	SELECT subject, id, lag(id) OVER (PARTITION BY subject ORDER BY place) AS last_id
	FROM (SELECT subject, id, min(place) AS place FROM witness.entry GROUP BY subject, id) AS f
) AS e
WHERE last_id > id;
COMMENT ON VIEW witness.stream_subject IS 'P5: rows of one purchase are published in the order in which they were committed';

CREATE VIEW witness.effects_lost AS
SELECT format('%s: outbox %s, %s %s, shard %s', c.consumer, o.id, o.source, o.message_id, o.shard) AS what
FROM intake.outbox AS o
CROSS JOIN (SELECT 'entitlements' AS consumer UNION SELECT consumer FROM effects.cursor) AS c
LEFT JOIN effects.inbox AS i USING (consumer, source, message_id)
WHERE i.consumer IS NULL;
COMMENT ON VIEW witness.effects_lost IS 'P9: every message is applied, by the default consumer whether it has a cursor yet or not, and by all others';

CREATE VIEW witness.effects_place AS
SELECT format('%s: %s %s at %s of shard %s', i.consumer, i.source, i.message_id, i.stream_id, i.shard) AS what
FROM effects.inbox AS i
LEFT JOIN intake.outbox AS o ON o.source = i.source AND o.message_id = i.message_id
    AND o.id::text = split_part(i.stream_id, '-', 2)
WHERE (i.shard, i.subject) IS DISTINCT FROM (o.shard, o.subject) OR o.id IS NULL;
COMMENT ON VIEW witness.effects_place IS 'P9: an inbox row tells which outbox row was applied';

CREATE VIEW witness.effects_trace AS
SELECT format('%s: %s %s: %s, outbox %s: %s', i.consumer, i.source, i.message_id, i.traceparent, o.id,
    o.traceparent) AS what
FROM effects.inbox AS i
JOIN intake.outbox AS o ON o.source = i.source AND o.message_id = i.message_id
    AND o.id::text = split_part(i.stream_id, '-', 2)
WHERE i.traceparent IS DISTINCT FROM o.traceparent;
COMMENT ON VIEW witness.effects_trace IS 'P9: an effect belongs to the trace of its message';

-- By transactions and when they were, not by stream IDs: a message that comes again has the ID of its
-- last delivery.
CREATE VIEW witness.effects_order AS
SELECT format('%s: %s: outbox %s in xid %s, outbox %s in xid %s', consumer, subject, last_id, last_xid, id, xid)
    AS what
FROM (
	SELECT consumer, subject, id, xid, lag(id) OVER in_order AS last_id, lag(xid) OVER in_order AS last_xid
	FROM (
		SELECT i.consumer, i.subject, o.id, i.xid,
		    min(i.processed_at) OVER (PARTITION BY i.consumer, i.xid) AS at
		FROM effects.inbox AS i JOIN intake.outbox AS o USING (source, message_id)
		WHERE o.first_position IS NULL
	) AS t
	WINDOW in_order AS (PARTITION BY consumer, subject ORDER BY at, id)
) AS e
WHERE last_id > id;
COMMENT ON VIEW witness.effects_order IS 'P11: for each purchase the messages of one transaction come before those of the next, in commit order';

CREATE VIEW witness.effects_doubled AS
SELECT format('%s %s: %s times', source, message_id, count(*)) AS what
FROM witness.effect
GROUP BY source, message_id HAVING count(*) > 1;
COMMENT ON VIEW witness.effects_doubled IS 'P9: the handler has run and committed once for each message';

CREATE VIEW witness.effects_witnessed AS
SELECT format('%s %s: inbox xid %s, effect xid %s', source, message_id, i.xid, e.xid) AS what
FROM (SELECT * FROM effects.inbox WHERE consumer = 'entitlements') AS i
FULL JOIN witness.effect AS e USING (source, message_id)
WHERE i.xid IS DISTINCT FROM e.xid AND EXISTS (SELECT FROM witness.effect);
COMMENT ON VIEW witness.effects_witnessed IS 'P9: inbox row and effect are of one transaction';

CREATE VIEW witness.effects_sequence AS
SELECT format('%s: outbox %s applied before %s', subject, last_id, id) AS what
FROM (
	SELECT e.subject, o.id, lag(o.id) OVER (PARTITION BY e.subject ORDER BY e.n) AS last_id
	FROM witness.effect AS e JOIN intake.outbox AS o USING (source, message_id)
	WHERE o.first_position IS NULL) AS e
WHERE last_id > id;
COMMENT ON VIEW witness.effects_sequence IS 'P11: effects of one purchase in the order in which they were committed';

CREATE VIEW witness.effects_entitlement AS
SELECT format('purchase %s, entitlement %s', p, e) AS what
FROM intake.purchase AS p FULL JOIN effects.entitlement AS e USING (store, store_purchase_id)
WHERE (p.account_ref, p.product_id, p.state, p.will_renew, p.expires_at, p.occurred_at, p.rank,
       p.last_notification_id, p.version)
    IS DISTINCT FROM
    (e.account_ref, e.product_id, e.state, e.will_renew, e.expires_at, e.occurred_at, e.rank,
     e.notification_id, e.version);
COMMENT ON VIEW witness.effects_entitlement IS 'P10: entitlements agree with purchases';

CREATE VIEW witness.effects_entitlement_xid AS
SELECT format('%s %s: xid %s, newest inbox row %s', e.store, e.store_purchase_id, e.xid, i.xid) AS what
FROM effects.entitlement AS e
JOIN (SELECT DISTINCT ON (o.subject) o.subject, i.xid
    FROM intake.outbox AS o JOIN effects.inbox AS i USING (source, message_id)
    WHERE i.consumer = 'entitlements' AND o.first_position IS NULL ORDER BY o.subject, o.id DESC) AS i
    ON i.subject = e.store || '/' || e.store_purchase_id
WHERE e.xid <> i.xid;
COMMENT ON VIEW witness.effects_entitlement_xid IS 'P9: an entitlement was last written with the inbox row of its newest message';

CREATE VIEW witness.effects_ledger AS
SELECT format('ledger %s: %s %s, xid %s, inbox %s', l.entry, l.source, l.message_id, l.xid, i.xid) AS what
FROM effects.ledger AS l
LEFT JOIN effects.inbox AS i ON i.consumer = 'entitlements' AND i.source = l.source
    AND i.message_id = l.message_id
WHERE l.xid IS DISTINCT FROM i.xid
UNION ALL
SELECT format('%s %s %s: %s entries', store, transaction_id, kind, count(*))
FROM effects.ledger GROUP BY store, transaction_id, kind HAVING count(*) > 1
UNION ALL
SELECT format('%s %s: no entry', n.store, n.notification_id)
FROM intake.notification AS n
LEFT JOIN effects.ledger AS l ON l.store = n.store AND l.transaction_id = n.transaction_id
    AND l.kind = effects.ledger_kind(n.kind)
WHERE n.transaction_id IS NOT NULL AND effects.ledger_kind(n.kind) IS NOT NULL
  AND n.store_purchase_id IS NOT NULL AND l.entry IS NULL;
COMMENT ON VIEW witness.effects_ledger IS 'P9: one ledger entry for each payment, written with its inbox row';

CREATE VIEW witness.effects_cursor AS
SELECT format('%s: shard %s at %s, applied %s', i.consumer, i.shard, c.stream_id, i.stream_id) AS what
FROM effects.inbox AS i LEFT JOIN effects.cursor AS c USING (consumer, shard)
WHERE c.stream_id IS NULL
   OR (split_part(i.stream_id, '-', 1)::numeric, split_part(i.stream_id, '-', 2)::numeric)
    > (split_part(c.stream_id, '-', 1)::numeric, split_part(c.stream_id, '-', 2)::numeric);
COMMENT ON VIEW witness.effects_cursor IS 'P10: nothing past the cursor is applied, since both move in one transaction';
