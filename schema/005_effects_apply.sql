-- The consumer's verbs: apply a batch, and the default handler.

-- One batch of one shard, within the caller's transaction.
--
-- The cursor goes first: its row lock makes a second owner of the shard wait here, and its comparison
-- then lets only one of them go on.  The inbox's primary key is the guarantee (P9).
-- applied NULL: the cursor was not at `from_id`; the caller rolls back and starts over.
CREATE FUNCTION effects.apply_batch(
	for_consumer text, by_instance text, of_shard smallint, from_id text, to_id text,
	handler regprocedure, stream_ids text[], first_positions text[], sources text[],
	message_ids text[], subjects text[], traceparents text[], published_ats timestamptz[],
	read_at timestamptz, events text[], OUT applied bigint, OUT held bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	purged_below text;
	waiting bigint[];
	fresh bigint[];
BEGIN
	UPDATE effects.cursor SET stream_id = to_id, starts_at = NULL, starts = 0
	WHERE consumer = for_consumer AND shard = of_shard AND stream_id = from_id
	RETURNING purge_floor INTO purged_below;
	IF NOT FOUND THEN
		RETURN;
	END IF;

	IF purged_below IS NOT NULL THEN
		PERFORM effects.park_purged(for_consumer, of_shard, purged_below, stream_ids,
		    first_positions, sources, message_ids, subjects, traceparents, published_ats, read_at,
		    events);
	END IF;
	SELECT h.waiting, h.held INTO waiting, held
	FROM effects.hold(for_consumer, of_shard, stream_ids, sources, message_ids, subjects,
	    traceparents, published_ats, read_at, events) AS h;

	WITH given AS (
		SELECT DISTINCT ON (source COLLATE "C", message_id COLLATE "C") *
		FROM unnest(stream_ids, sources, message_ids, subjects, traceparents, published_ats)
		    WITH ORDINALITY AS g(stream_id, source, message_id, subject, traceparent, published_at, n)
		WHERE n <> ALL (waiting)
		ORDER BY source COLLATE "C", message_id COLLATE "C", n
	), inserted AS (
		INSERT INTO effects.inbox (consumer, source, message_id, subject, shard, stream_id,
		    traceparent, published_at, delivered_at, instance)
		SELECT for_consumer, source, message_id, subject, of_shard, stream_id, traceparent,
		    published_at, read_at, by_instance
		FROM given ORDER BY source COLLATE "C", message_id COLLATE "C"
		ON CONFLICT (consumer, source, message_id) DO NOTHING
		RETURNING source, message_id
	)
	SELECT coalesce(array_agg(g.n ORDER BY g.n), '{}') INTO fresh
	FROM inserted JOIN given AS g USING (source, message_id);
	IF cardinality(fresh) < cardinality(message_ids) - cardinality(waiting) THEN
		PERFORM effects.raise_positions(for_consumer, stream_ids, sources, message_ids);
	END IF;

	-- One statement for the whole batch, so that the handler is planned once; the subquery's order
	-- is the stream's.
	EXECUTE format('SELECT count(%s(e::json)) FROM (SELECT e FROM unnest($1) WITH ORDINALITY AS g(e, n)'
	    ' WHERE n = ANY ($2) ORDER BY n) AS o', handler::oid::regproc) USING events, fresh;
	applied := cardinality(fresh);
END
$$;
COMMENT ON FUNCTION effects.apply_batch IS 'Move the cursor, hold what waits for a parked message, insert the rest into the inbox, run the handler for what was new in stream order; how many were applied and held, or NULL if the cursor had moved. Writes cursor, parked, inbox, and what the handler writes';

CREATE FUNCTION effects.ledger_kind(kind text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE WHEN kind IN ('started', 'renewed', 'recovered') THEN 'charge'
	            WHEN kind = 'refunded' THEN 'refund'
	            WHEN kind = 'refund_reversed' THEN 'refund_reversal' END
$$;
COMMENT ON FUNCTION effects.ledger_kind IS 'The ledger entry that a kind of notification makes; NULL: none';

CREATE FUNCTION effects.apply_purchase(event json)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	m record;
	p record;
BEGIN
	-- Each object is parsed once, where json's operators would parse all of it for every member.  As
	-- text, since a member that is not used may be anything.
	SELECT e.source, e.id, d.store, d.kind, d.transaction_id, d.quantity, d.amount_minor, d.currency,
	    d.purchase
	INTO m
	FROM json_to_record(event) AS e(source text, id text, data json)
	CROSS JOIN LATERAL json_to_record(CASE WHEN json_typeof(e.data) = 'object' THEN e.data END)
	    AS d(store text, kind text, transaction_id text, quantity text, amount_minor text,
	        currency text, purchase json);
	IF json_typeof(m.purchase) IS DISTINCT FROM 'object' THEN
		RETURN; -- no purchase: nothing to entitle to
	END IF;
	SELECT * INTO p FROM json_to_record(m.purchase) AS r(store text, store_purchase_id text,
	    account_ref text, product_id text, state text, will_renew text, expires_at text,
	    occurred_at text, rank text, last_notification_id text, version text);
	-- What another source claims about a store's purchase or payment moves neither.
	IF (m.source, m.source) IS DISTINCT FROM (m.store, p.store) THEN
		RETURN;
	END IF;
	INSERT INTO effects.entitlement AS e (store, store_purchase_id, account_ref, product_id, state,
	    will_renew, expires_at, occurred_at, rank, notification_id, version)
	VALUES (p.store, p.store_purchase_id, p.account_ref, p.product_id, p.state,
	    p.will_renew::boolean, p.expires_at::timestamptz, p.occurred_at::timestamptz,
	    p.rank::smallint, p.last_notification_id, p.version::bigint)
	ON CONFLICT (store, store_purchase_id) DO UPDATE SET
	    account_ref = coalesce(excluded.account_ref, e.account_ref),
	    product_id = excluded.product_id, state = excluded.state,
	    will_renew = excluded.will_renew, expires_at = excluded.expires_at,
	    occurred_at = excluded.occurred_at, rank = excluded.rank,
	    notification_id = excluded.notification_id, version = excluded.version,
	    xid = pg_current_xact_id()
	-- Equal: a late notification was folded in behind the newest one, and may have changed it.
	WHERE (excluded.occurred_at, excluded.rank, excluded.notification_id)
	    >= (e.occurred_at, e.rank, e.notification_id);

	INSERT INTO effects.ledger (store, transaction_id, kind, quantity, amount_minor, currency, source,
	    message_id)
	SELECT m.store, m.transaction_id, effects.ledger_kind(m.kind),
	    m.quantity::bigint, m.amount_minor::bigint, m.currency, m.source, m.id
	WHERE effects.ledger_kind(m.kind) IS NOT NULL AND m.transaction_id IS NOT NULL
	ON CONFLICT (store, transaction_id, kind) DO NOTHING;
END
$$;
COMMENT ON FUNCTION effects.apply_purchase IS 'The default handler: keeps entitlement (the greater key wins) and ledger, each only as its own store tells it. Writes entitlement, ledger';
