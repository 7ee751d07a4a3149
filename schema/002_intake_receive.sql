-- The producer's verbs: fold, receive, emit.

CREATE FUNCTION intake.subject_of(store text, store_purchase_id text, notification_id text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT store || '/' || coalesce(store_purchase_id, '/' || notification_id)
$$;
COMMENT ON FUNCTION intake.subject_of IS 'What order is kept by: <store>/<purchase>, or <store>//<notification>';

-- One expression, and STABLE as convert_to() is, so that it is inlined.
CREATE FUNCTION intake.shard_of_subject(subject text, shards integer)
RETURNS smallint LANGUAGE sql STABLE PARALLEL SAFE AS $$
	SELECT (('x' || left(encode(sha256(convert_to(subject, 'UTF8')), 'hex'), 8))::bit(32)::bigint
	    % shards)::smallint
$$;
COMMENT ON FUNCTION intake.shard_of_subject IS 'The first four bytes of SHA-256, big-endian, modulo the number of shards: stable for ever';

CREATE FUNCTION intake.shard_of(store text, store_purchase_id text)
RETURNS smallint LANGUAGE sql STABLE PARALLEL SAFE AS $$
	SELECT intake.shard_of_subject(store || '/' || store_purchase_id, (SELECT shards FROM intake.setting))
$$;
COMMENT ON FUNCTION intake.shard_of IS 'The shard of a purchase. Reads setting';

-- The one place that says what a notification does to a purchase.  A notification about a payment
-- that may be an old one (refunds) or that says nothing (noted: rank 0) only fills gaps.
CREATE FUNCTION intake.fold_step(p intake.purchase, n intake.notification)
RETURNS SETOF intake.purchase LANGUAGE sql IMMUTABLE ROWS 1 AS $$
	SELECT n.store, n.store_purchase_id,
	    CASE WHEN fills THEN coalesce(p.product_id, n.product_id) ELSE coalesce(n.product_id, p.product_id) END,
	    CASE WHEN fills THEN coalesce(p.account_ref, n.account_ref) ELSE coalesce(n.account_ref, p.account_ref) END,
	    CASE WHEN n.current_only AND n.transaction_id IS DISTINCT FROM p.transaction_id AND p.transaction_id IS NOT NULL
	         THEN coalesce(p.state, 'unknown')
	         ELSE coalesce(n.state, p.state, 'unknown') END,
	    coalesce(n.will_renew, p.will_renew),
	    CASE WHEN fills THEN coalesce(p.expires_at, n.expires_at) ELSE coalesce(n.expires_at, p.expires_at) END,
	    CASE WHEN fills THEN coalesce(p.transaction_id, n.transaction_id) ELSE coalesce(n.transaction_id, p.transaction_id) END,
	    CASE WHEN fills OR n.amount_minor IS NULL THEN p.amount_minor ELSE n.amount_minor END,
	    CASE WHEN fills OR n.amount_minor IS NULL THEN p.currency ELSE n.currency END,
	    n.occurred_at, n.rank, n.notification_id, p.version, p.xid
	FROM (SELECT n.kind IN ('noted', 'refunded', 'refund_reversed') AS fills) AS k
$$;
COMMENT ON FUNCTION intake.fold_step IS 'The purchase after one more notification, in key order; p NULL: the first';

CREATE FUNCTION intake.fold_next(p intake.purchase, n intake.notification)
RETURNS intake.purchase LANGUAGE sql IMMUTABLE AS $$
	SELECT f FROM intake.fold_step(p, n) AS f
$$;
COMMENT ON FUNCTION intake.fold_next IS 'fold_step as an aggregate wants it';

CREATE AGGREGATE intake.fold(intake.notification) (SFUNC = intake.fold_next, STYPE = intake.purchase);
COMMENT ON AGGREGATE intake.fold(intake.notification) IS 'The purchase that notifications add up to; always with ORDER BY occurred_at, rank, notification_id';

CREATE FUNCTION intake.event_type(kind text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE kind WHEN 'test' THEN 'notification.test' ELSE 'purchase.' || kind END
$$;
COMMENT ON FUNCTION intake.event_type IS 'The CloudEvents type of a kind';

CREATE FUNCTION intake.purchase_json(p intake.purchase)
RETURNS json LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN p.store IS NOT NULL THEN json_build_object(
	    'store', p.store, 'store_purchase_id', p.store_purchase_id, 'product_id', p.product_id,
	    'account_ref', p.account_ref, 'state', p.state, 'will_renew', p.will_renew,
	    'expires_at', p.expires_at, 'transaction_id', p.transaction_id,
	    'amount_minor', p.amount_minor, 'currency', p.currency, 'occurred_at', p.occurred_at,
	    'rank', p.rank, 'last_notification_id', p.last_notification_id, 'version', p.version) END
$$;
COMMENT ON FUNCTION intake.purchase_json IS 'A purchase as the event carries it; JSON null for none';

CREATE FUNCTION intake.event_data(n intake.notification, p intake.purchase, superseded boolean)
RETURNS json LANGUAGE sql STABLE AS $$
	SELECT json_build_object(
	    'store', n.store, 'notification_id', n.notification_id, 'kind', n.kind,
	    'native_type', n.native_type, 'rank', n.rank, 'occurred_at', n.occurred_at,
	    'received_at', n.received_at, 'store_purchase_id', n.store_purchase_id,
	    'product_id', n.product_id, 'account_ref', n.account_ref, 'state', n.state,
	    'will_renew', n.will_renew, 'expires_at', n.expires_at,
	    'transaction_id', n.transaction_id, 'amount_minor', n.amount_minor,
	    'currency', n.currency, 'quantity', n.quantity, 'partial', n.partial,
	    'superseded', superseded, 'purchase', intake.purchase_json(p))
$$;
COMMENT ON FUNCTION intake.event_data IS 'data of the event: the notification''s normalised fields and the purchase as of this change';

-- A cluster that was restored or replaced hands out transaction ids that ticks have already passed;
-- rows written under them would never be published.
CREATE FUNCTION intake.check_xid()
RETURNS intake.setting LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	s intake.setting;
BEGIN
	SELECT * INTO STRICT s FROM intake.setting WHERE only_row;
	IF s.system_identifier <> (SELECT system_identifier FROM pg_control_system()) THEN
		RAISE EXCEPTION 'this is another PostgreSQL cluster than %, which the outbox was written in',
		    s.system_identifier
		    USING ERRCODE = 'UMV03', HINT = 'connect to that one; if this one replaces it, run umavez rebase';
	END IF;
	IF intake.current_xid() < s.xid_floor THEN
		RAISE EXCEPTION 'transaction id % is below the floor %: this is another PostgreSQL cluster than the one that the outbox was written in',
		    intake.current_xid(), s.xid_floor
		    USING ERRCODE = 'UMV03', HINT = 'connect to that one; if this one replaces it, run umavez rebase';
	END IF;
	RETURN s;
END
$$;
COMMENT ON FUNCTION intake.check_xid IS 'The setting row, or an exception in a cluster whose xids have not reached the floor. Writes nothing, assigns an xid';

-- Refold one purchase whose notification arrived late, and tell so.  The caller holds its row lock.
CREATE FUNCTION intake.receive_late(n intake.notification, shards integer)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	was intake.purchase;
	now_is intake.purchase;
	changed boolean;
BEGIN
	SELECT * INTO STRICT was FROM intake.purchase
	    WHERE store = n.store AND store_purchase_id = n.store_purchase_id;
	SELECT (folded.f).* INTO STRICT now_is FROM (
	    -- The row without its body, which would be read for nothing.
	    SELECT intake.fold(ROW(o.store, o.notification_id, o.kind, o.native_type, o.rank,
	        o.store_purchase_id, o.occurred_at, o.received_at, o.xid, o.traceparent, o.trace_link,
	        o.product_id, o.account_ref, o.state, o.current_only, o.will_renew, o.expires_at,
	        o.transaction_id, o.amount_minor, o.currency, o.quantity, o.partial, o.remark,
	        NULL)::intake.notification ORDER BY o.occurred_at, o.rank, o.notification_id) AS f
	    FROM intake.notification AS o
	    WHERE o.store = n.store AND o.store_purchase_id = n.store_purchase_id
	      AND o.kind <> 'unrecognized') AS folded;
	now_is.version := was.version;
	now_is.xid := was.xid;
	changed := now_is IS DISTINCT FROM was;
	now_is.version := was.version + changed::integer;
	now_is.xid := intake.current_xid();
	UPDATE intake.purchase SET product_id = now_is.product_id, account_ref = now_is.account_ref,
	    state = now_is.state, will_renew = now_is.will_renew, expires_at = now_is.expires_at,
	    transaction_id = now_is.transaction_id, amount_minor = now_is.amount_minor,
	    currency = now_is.currency, version = now_is.version, xid = now_is.xid
	    WHERE store = n.store AND store_purchase_id = n.store_purchase_id;
	INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data, traceparent)
	SELECT intake.shard_of_subject(s, shards), n.store, n.notification_id, intake.event_type(n.kind),
	    s, n.occurred_at, intake.event_data(n, now_is, NOT changed), n.traceparent
	FROM intake.subject_of(n.store, n.store_purchase_id, n.notification_id) AS s;
END
$$;
COMMENT ON FUNCTION intake.receive_late IS 'A notification older than the newest one: refold from notification. Writes purchase, outbox';

-- One batch.  The caller gives no two notifications of one key and no two of one purchase.
--
-- Locks are taken in one global order, so concurrent batches cannot deadlock: notification keys
-- ascending, then purchases ascending.  An outbox id is drawn only for a row that came out of the
-- purchase's upsert, that is, under its row lock.
--
-- Every join is a look-up by primary key, whatever the statistics say: a plan made while the tables
-- were small must not read them whole when they have grown.  Sets of one batch are compared by IN and
-- NOT IN, which hash; a join of two such sets would be a nested loop, as a row count is never known.
-- The price of a plan that is switched off must not have it compiled: no JIT.
-- With so little to choose, one plan is made once a session: planning took a third of a small batch.
CREATE FUNCTION intake.receive(
	stores text[], notification_ids text[], kinds text[], native_types text[], ranks smallint[],
	purchase_ids text[], occurred_ats timestamptz[], received_ats timestamptz[],
	traceparents text[], trace_links text[], product_ids text[], account_refs text[],
	states text[], current_onlys boolean[], will_renews boolean[], expires_ats timestamptz[],
	transaction_ids text[], amounts bigint[], currencies text[], quantities bigint[],
	partials boolean[], remarks text[], bodies bytea[])
RETURNS boolean[] LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	setting intake.setting := intake.check_xid();
	this_xid xid8 := intake.current_xid();
	accepted boolean[];
	late_places bigint[]; -- which of the given came after something newer
	late intake.notification;
BEGIN
	WITH given AS (
		SELECT * FROM unnest(stores, notification_ids, kinds, native_types, ranks, purchase_ids,
		    occurred_ats, received_ats, traceparents, trace_links, product_ids, account_refs,
		    states, current_onlys, will_renews, expires_ats, transaction_ids, amounts,
		    currencies, quantities, partials, remarks, bodies) WITH ORDINALITY
		    AS g(store, notification_id, kind, native_type, rank, store_purchase_id,
		    occurred_at, received_at, traceparent, trace_link, product_id, account_ref,
		    state, current_only, will_renew, expires_at, transaction_id, amount_minor,
		    currency, quantity, partial, remark, body, n)
	), fresh AS (
		INSERT INTO intake.notification (store, notification_id, kind, native_type, rank,
		    store_purchase_id, occurred_at, received_at, traceparent, trace_link,
		    product_id, account_ref, state, current_only, will_renew, expires_at,
		    transaction_id, amount_minor, currency, quantity, partial, remark, body, xid)
		SELECT store, notification_id, kind, native_type, rank, store_purchase_id, occurred_at,
		    received_at, traceparent, trace_link, product_id, account_ref, state,
		    current_only, will_renew, expires_at, transaction_id, amount_minor, currency,
		    quantity, partial, remark, body, this_xid
		FROM given ORDER BY store COLLATE "C", notification_id COLLATE "C"
		ON CONFLICT (store, notification_id) DO NOTHING
		RETURNING store, notification_id
	)
	SELECT array_agg((store, notification_id) IN (SELECT store, notification_id FROM fresh) ORDER BY n)
	INTO accepted FROM given;

	WITH fresh AS MATERIALIZED (
		SELECT store, notification_id, store_purchase_id IS NOT NULL AS has_purchase, place
		FROM unnest(stores, notification_ids, kinds, purchase_ids, accepted) WITH ORDINALITY
		    AS g(store, notification_id, kind, store_purchase_id, is_new, place)
		WHERE is_new AND kind <> 'unrecognized'
	), folded AS (
		INSERT INTO intake.purchase AS p
		SELECT f.store, f.store_purchase_id, f.product_id, f.account_ref, f.state, f.will_renew,
		    f.expires_at, f.transaction_id, f.amount_minor, f.currency, f.occurred_at, f.rank,
		    f.last_notification_id, 1, this_xid
		FROM fresh JOIN intake.notification AS n USING (store, notification_id)
		CROSS JOIN LATERAL intake.fold_step(NULL, n) AS f
		WHERE has_purchase
		ORDER BY f.store, f.store_purchase_id
		ON CONFLICT (store, store_purchase_id) DO UPDATE SET
		    (product_id, account_ref, state, will_renew, expires_at, transaction_id,
		     amount_minor, currency, occurred_at, rank, last_notification_id, version, xid) =
		    (SELECT f.product_id, f.account_ref, f.state, f.will_renew, f.expires_at,
		         f.transaction_id, f.amount_minor, f.currency, f.occurred_at, f.rank,
		         f.last_notification_id, p.version + 1, this_xid
		     FROM intake.notification AS n CROSS JOIN LATERAL intake.fold_step(p, n) AS f
		     WHERE n.store = excluded.store AND n.notification_id = excluded.last_notification_id)
		WHERE (excluded.occurred_at, excluded.rank, excluded.last_notification_id)
		    > (p.occurred_at, p.rank, p.last_notification_id)
		RETURNING p AS p
	), published AS (
		INSERT INTO intake.outbox (shard, xid, source, message_id, type, subject, time, data, traceparent)
		SELECT intake.shard_of_subject(s.subject, setting.shards), this_xid, n.store, n.notification_id,
		    intake.event_type(n.kind), s.subject, n.occurred_at,
		    intake.event_data(n, t.p, false), n.traceparent
		FROM (SELECT (p).store, (p).last_notification_id AS notification_id, p FROM folded
		      UNION ALL
		      SELECT store, notification_id, NULL FROM fresh WHERE NOT has_purchase) AS t
		JOIN intake.notification AS n USING (store, notification_id)
		CROSS JOIN LATERAL (SELECT intake.subject_of(n.store, n.store_purchase_id,
		    n.notification_id)) AS s(subject)
	)
	SELECT array_agg(place) INTO late_places FROM fresh
	WHERE has_purchase AND (store, notification_id) NOT IN
	    (SELECT (p).store, (p).last_notification_id FROM folded);

	-- The upsert locked these too, but did not fold them: something newer is there already.
	FOR late IN
		SELECT k.* FROM unnest(late_places) AS l(place)
		JOIN intake.notification AS k
		    ON k.store = stores[place] AND k.notification_id = notification_ids[place]
		ORDER BY k.store, k.store_purchase_id
	LOOP
		PERFORM intake.receive_late(late, setting.shards);
	END LOOP;

	-- A duplicate is answered as success, so its original must be as durable as an answer promises,
	-- also if nobody confirmed its commit (a standby's wait that was cut short).  Without WAL of our
	-- own this commit would neither flush nor wait for a standby.
	IF false = ANY (accepted) THEN
		PERFORM pg_logical_emit_message(true, 'umavez', '');
	END IF;
	RETURN accepted;
END
$$;
COMMENT ON FUNCTION intake.receive IS 'Keep a batch of notifications: true for each one accepted, false for a duplicate, in the given order. Writes notification, purchase, outbox';

CREATE FUNCTION intake.emit(source text, message_id text, type text, subject text, data json,
    "time" timestamptz DEFAULT clock_timestamp(), traceparent text DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	setting intake.setting := intake.check_xid();
	emitted bigint;
BEGIN
	IF source IS NULL OR message_id IS NULL OR type IS NULL OR subject IS NULL OR data IS NULL
	    OR '' IN (source, message_id, type, subject) THEN
		RAISE EXCEPTION 'emit: source, message_id, type, subject and data must be given and not empty'
		    USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF greatest(octet_length(source), octet_length(message_id)) > 512 THEN
		RAISE EXCEPTION 'emit: source and message_id are keys, of 512 bytes at most'
		    USING ERRCODE = 'invalid_parameter_value';
	END IF;
	-- The relay's --max-event: a row above it stops its shard, the stores' purchases included.
	IF octet_length(source) + octet_length(message_id) + octet_length(type) + octet_length(subject)
	    + coalesce(octet_length(traceparent), 0) + octet_length(data::text) > 1048576 THEN
		RAISE EXCEPTION 'emit: an event has 1 MiB at most: store what is larger elsewhere, and tell where'
		    USING ERRCODE = 'program_limit_exceeded';
	END IF;
	IF NOT EXISTS (SELECT FROM intake.emitter AS e JOIN pg_catalog.pg_roles AS r ON r.rolname = e.role_name
	    WHERE e.source = emit.source AND pg_has_role(session_user, r.oid, 'MEMBER')) THEN
		RAISE EXCEPTION 'emit: role % may not use the source %', session_user, source
		    USING ERRCODE = 'insufficient_privilege',
		    HINT = 'INSERT INTO intake.emitter (role_name, source) grants it';
	END IF;
	-- Whoever tells of one subject does so in commit order: the purchase's row where there is one.
	PERFORM FROM intake.purchase AS p
	    WHERE p.store = split_part(emit.subject, '/', 1)
	      AND p.store_purchase_id = substr(emit.subject, strpos(emit.subject, '/') + 1)
	    FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		PERFORM pg_advisory_xact_lock(hashtextextended(emit.subject, 8392341));
	END IF;
	INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data, traceparent)
	VALUES (intake.shard_of_subject(emit.subject, setting.shards), emit.source, emit.message_id,
	    emit.type, emit.subject, emit."time", emit.data, emit.traceparent)
	RETURNING id INTO emitted;
	RETURN emitted;
END
$$;
COMMENT ON FUNCTION intake.emit IS 'For other applications: one outbox row in the caller''s own transaction; returns its id. Locks the purchase''s row, or else an advisory lock on the subject, until the transaction ends. Writes outbox';
REVOKE ALL ON FUNCTION intake.emit FROM PUBLIC;
REVOKE ALL ON FUNCTION intake.receive FROM PUBLIC;
