-- The consumer's verbs: apply a batch, and the default handler.

CREATE FUNCTION effects.batch_form(handler regprocedure)
RETURNS regprocedure LANGUAGE sql STABLE AS $$
	SELECT many.oid
	FROM pg_proc AS one JOIN pg_namespace AS n ON n.oid = one.pronamespace
	JOIN pg_proc AS many
	    ON many.oid = to_regprocedure(format('%I.%I(json[])', n.nspname, one.proname || '_batch'))
	WHERE one.oid = handler AND many.prokind = 'f' AND NOT many.proretset
$$;
COMMENT ON FUNCTION effects.batch_form IS 'The function beside a handler that takes many events at once, its_name_batch(json[]); NULL: there is none';

-- Alone a message goes to the handler that was named, also if there is another for many: what is said
-- of it when it fails is that one's word.
--
-- One statement for all, so that the handler is planned once; the subquery's order is the stream's.
CREATE FUNCTION effects.handle(handler regprocedure, events text[])
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	of_many regprocedure;
BEGIN
	IF cardinality(events) > 1 THEN
		of_many := effects.batch_form(handler);
	END IF;
	IF of_many IS NOT NULL THEN
		EXECUTE format('SELECT %s($1)', of_many::oid::regproc) USING events::json[];
	ELSE
		EXECUTE format('SELECT count(%s(e::json)) FROM (SELECT e FROM unnest($1) WITH ORDINALITY AS g(e, n)'
		    ' ORDER BY n) AS o', handler::oid::regproc) USING events;
	END IF;
END
$$;
COMMENT ON FUNCTION effects.handle IS 'Run a handler for these events in their order. Writes what the handler writes';

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

	applied := cardinality(fresh);
	IF applied > 0 THEN
		PERFORM effects.handle(handler, CASE WHEN applied = cardinality(events) THEN events
		    ELSE ARRAY(SELECT e FROM unnest(events) WITH ORDINALITY AS g(e, n)
		        WHERE n = ANY (fresh) ORDER BY n) END);
	END IF;
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

	-- By IF, since a plan with the values in it would cast them also where WHERE said no.
	IF effects.ledger_kind(m.kind) IS NOT NULL AND m.transaction_id IS NOT NULL THEN
		INSERT INTO effects.ledger (store, transaction_id, kind, quantity, amount_minor, currency,
		    source, message_id)
		VALUES (m.store, m.transaction_id, effects.ledger_kind(m.kind), m.quantity::bigint,
		    m.amount_minor::bigint, m.currency, m.source, m.id)
		ON CONFLICT (store, transaction_id, kind) DO NOTHING;
	END IF;
END
$$;
COMMENT ON FUNCTION effects.apply_purchase IS 'The default handler: keeps entitlement (the greater key wins) and ledger, each only as its own store tells it. Writes entitlement, ledger';

-- The same in one statement: each purchase is written once, as its newest event has it, in the order of
-- keys.  That is what one after the other would leave; where it might not be, which is odd and rare, they
-- go one after the other.
CREATE FUNCTION effects.apply_purchase_batch(events json[])
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	is_odd boolean;
	event json;
BEGIN
	WITH told AS MATERIALIZED (
		SELECT n, e.source, e.id AS message_id, effects.ledger_kind(d.kind) AS entry_kind,
		    d.transaction_id, d.quantity, d.amount_minor, d.currency,
		    p.store COLLATE "C" AS store, p.store_purchase_id COLLATE "C" AS store_purchase_id,
		    p.account_ref, p.product_id, p.state, p.will_renew::boolean AS will_renew,
		    p.expires_at::timestamptz AS expires_at, p.occurred_at::timestamptz AS occurred_at,
		    p.rank::smallint AS rank, p.last_notification_id COLLATE "C" AS notification_id,
		    p.version::bigint AS version
		FROM unnest(events) WITH ORDINALITY AS g(event, n)
		CROSS JOIN LATERAL json_to_record(g.event) AS e(source text, id text, data json)
		CROSS JOIN LATERAL json_to_record(CASE WHEN json_typeof(e.data) = 'object' THEN e.data END)
		    AS d(store text, kind text, transaction_id text, quantity text, amount_minor text,
		        currency text, purchase json)
		CROSS JOIN LATERAL json_to_record(CASE WHEN json_typeof(d.purchase) = 'object' THEN d.purchase END)
		    AS p(store text, store_purchase_id text, account_ref text, product_id text, state text,
		        will_renew text, expires_at text, occurred_at text, rank text,
		        last_notification_id text, version text)
		WHERE json_typeof(d.purchase) = 'object'
		  AND (e.source, e.source) IS NOT DISTINCT FROM (d.store, p.store)
	), odd AS MATERIALIZED (
		-- What is passed over here for a newer one would have been refused, or would have left
		-- its account.
		SELECT coalesce(bool_or(t.is_odd), false) AS is_odd
		FROM (SELECT count(account_ref) NOT IN (0, count(*)) OR max(octet_length(account_ref)) > 1024
		          OR bool_or(num_nulls(store, store_purchase_id, state, occurred_at, rank,
		              notification_id, version) > 0) AS is_odd
		      FROM told GROUP BY store, store_purchase_id HAVING count(*) > 1) AS t
	), entitled AS (
		INSERT INTO effects.entitlement AS e (store, store_purchase_id, account_ref, product_id, state,
		    will_renew, expires_at, occurred_at, rank, notification_id, version)
		SELECT DISTINCT ON (store, store_purchase_id) store, store_purchase_id, account_ref, product_id,
		    state, will_renew, expires_at, occurred_at, rank, notification_id, version
		FROM told WHERE NOT (SELECT o.is_odd FROM odd AS o)
		ORDER BY store, store_purchase_id, occurred_at DESC, rank DESC, notification_id DESC, n DESC
		ON CONFLICT (store, store_purchase_id) DO UPDATE SET
		    account_ref = coalesce(excluded.account_ref, e.account_ref),
		    product_id = excluded.product_id, state = excluded.state,
		    will_renew = excluded.will_renew, expires_at = excluded.expires_at,
		    occurred_at = excluded.occurred_at, rank = excluded.rank,
		    notification_id = excluded.notification_id, version = excluded.version,
		    xid = pg_current_xact_id()
		WHERE (excluded.occurred_at, excluded.rank, excluded.notification_id)
		    >= (e.occurred_at, e.rank, e.notification_id)
	), entered AS (
		INSERT INTO effects.ledger (store, transaction_id, kind, quantity, amount_minor, currency,
		    source, message_id)
		SELECT store, transaction_id, entry_kind, quantity::bigint, amount_minor::bigint, currency,
		    source, message_id
		FROM told
		WHERE entry_kind IS NOT NULL AND transaction_id IS NOT NULL AND NOT (SELECT o.is_odd FROM odd AS o)
		ORDER BY n
		ON CONFLICT (store, transaction_id, kind) DO NOTHING
	)
	SELECT o.is_odd INTO is_odd FROM odd AS o;
	IF is_odd THEN
		FOREACH event IN ARRAY events LOOP
			PERFORM effects.apply_purchase(event);
		END LOOP;
	END IF;
END
$$;
COMMENT ON FUNCTION effects.apply_purchase_batch IS 'The default handler for many events: leaves what apply_purchase() would for one after the other. Writes entitlement, ledger';
