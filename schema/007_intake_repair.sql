-- What the operator's tool needs to prove that nothing is lost, and to repair what is.

CREATE TABLE intake.gap (
	shard      smallint NOT NULL,
	after_tick bigint NOT NULL,
	after_id   bigint NOT NULL,
	tick       bigint NOT NULL,
	at         timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (shard, after_tick, after_id)
);
COMMENT ON TABLE intake.gap IS 'Where a stream went on behind rows that are no longer retained: written by the relay, kept until somebody has looked at it';
COMMENT ON COLUMN intake.gap.shard IS 'Which stream';
COMMENT ON COLUMN intake.gap.after_tick IS 'The newest entry that the stream had';
COMMENT ON COLUMN intake.gap.after_id IS 'With after_tick';
COMMENT ON COLUMN intake.gap.tick IS 'Rows up to this tick''s batch were no longer retained: the stream went on after it';
COMMENT ON COLUMN intake.gap.at IS 'When the relay met it, by the wall clock';

-- A row that the position's tick does not see is published later, or is not ticked yet.  What it sees
-- is published again only by a repair or a replay.
CREATE FUNCTION intake.stands_after(row_shard smallint, row_id bigint, row_xid xid8, at_tick bigint, at_id bigint)
RETURNS boolean LANGUAGE sql STABLE AS $$
	WITH place AS (
		SELECT tick, snapshot, CASE WHEN tick = at_tick THEN at_id ELSE 9223372036854775807 END AS id
		FROM intake.tick WHERE shard = row_shard AND tick <= at_tick ORDER BY tick DESC LIMIT 1
	), oldest AS (
		SELECT previous_tick, snapshot FROM intake.tick WHERE shard = row_shard ORDER BY tick LIMIT 1
	)
	SELECT CASE WHEN EXISTS (SELECT FROM place)
	    THEN EXISTS (SELECT FROM place AS p WHERE NOT pg_visible_in_snapshot(row_xid, p.snapshot)
	        OR (row_id > p.id AND intake.in_tick(row_shard, p.tick, row_id, row_xid)))
	    ELSE EXISTS (SELECT FROM oldest AS o
	        WHERE o.previous_tick = 0 OR NOT pg_visible_in_snapshot(row_xid, o.snapshot)) END
	  OR EXISTS (SELECT FROM intake.tick AS t
	      WHERE t.shard = row_shard AND t.from_tick IS NOT NULL AND t.tick > at_tick
	        AND intake.in_tick(row_shard, t.tick, row_id, row_xid))
$$;
COMMENT ON FUNCTION intake.stands_after IS 'Whether an outbox row is, or will be, published behind a position (tick, id) of its shard';

-- By halving, since along a chain a transaction is seen by every tick after the first that sees it.
CREATE FUNCTION intake.first_tick(of_shard smallint, row_xid xid8)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
	low bigint;  -- a tick that does not see it
	high bigint; -- one that does
	t intake.tick;
BEGIN
	SELECT * INTO STRICT t FROM intake.tick WHERE shard = of_shard ORDER BY tick LIMIT 1;
	IF pg_visible_in_snapshot(row_xid, t.snapshot) THEN
		RETURN 0;
	END IF;
	low := t.tick;
	SELECT * INTO STRICT t FROM intake.tick WHERE shard = of_shard ORDER BY tick DESC LIMIT 1;
	IF NOT pg_visible_in_snapshot(row_xid, t.snapshot) THEN
		RETURN NULL;
	END IF;
	high := t.tick;
	LOOP
		SELECT * INTO t FROM intake.tick
		    WHERE shard = of_shard AND tick > low AND tick <= low + (high - low) / 2
		    ORDER BY tick DESC LIMIT 1;
		IF NOT FOUND THEN
			SELECT * INTO t FROM intake.tick
			    WHERE shard = of_shard AND tick > low AND tick < high ORDER BY tick LIMIT 1;
		END IF;
		IF NOT FOUND THEN
			RETURN high;
		ELSIF pg_visible_in_snapshot(row_xid, t.snapshot) THEN
			high := t.tick;
		ELSE
			low := t.tick;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION intake.first_tick IS 'The first tick of a shard that sees a transaction; NULL: none does yet; 0: so did the oldest retained';

-- A consumer that has applied the message knows it by its id.  first_position lets one that has
-- purged its inbox see that it may have: it is the lowest position that the message can have had, also
-- if that was voided since.
CREATE FUNCTION intake.republish(ids bigint[])
RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	setting intake.setting := intake.check_xid();
	copied bigint;
BEGIN
	-- Whoever tells of one subject does so in commit order, as in receive and emit.
	PERFORM FROM intake.purchase AS p
	    WHERE (p.store, p.store_purchase_id) IN (
	        SELECT split_part(o.subject, '/', 1), substr(o.subject, strpos(o.subject, '/') + 1)
	        FROM intake.outbox AS o WHERE o.id = ANY (ids))
	    ORDER BY p.store, p.store_purchase_id FOR NO KEY UPDATE;
	PERFORM pg_advisory_xact_lock(k.key) FROM (
	    SELECT DISTINCT hashtextextended(o.subject, 8392341) AS key
	    FROM intake.outbox AS o
	    WHERE o.id = ANY (ids) AND NOT EXISTS (SELECT FROM intake.purchase AS p
	        WHERE p.store = split_part(o.subject, '/', 1)
	          AND p.store_purchase_id = substr(o.subject, strpos(o.subject, '/') + 1))
	    ORDER BY key) AS k;
	INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data, traceparent,
	    first_position)
	SELECT o.shard, o.source, o.message_id, o.type, o.subject, o.time, o.data, o.traceparent,
	    coalesce(o.first_position, f.tick || '-' || o.id)
	FROM intake.outbox AS o CROSS JOIN LATERAL intake.first_tick(o.shard, o.xid) AS f(tick)
	WHERE o.id = ANY (ids) AND f.tick IS NOT NULL
	ORDER BY o.id;
	GET DIAGNOSTICS copied = ROW_COUNT;
	RETURN copied;
END
$$;
COMMENT ON FUNCTION intake.republish IS 'Outbox rows once more, under their message ids; not those that are not ticked yet, which are on their way. How many. Locks the purchases, or else the subjects. Writes outbox';
REVOKE ALL ON FUNCTION intake.republish FROM PUBLIC;

-- The quarantined row makes room, and its notification is received once more: fold, outbox row and all
-- in one transaction.  Under the store's own id where that can be read now, so that another delivery
-- is still a duplicate.  When it was received, its trace and its bytes stay.
CREATE FUNCTION intake.reprocess(
	of_store text, of_id text, notification_id text, kind text, native_type text, rank smallint,
	purchase_id text, occurred_at timestamptz, product_id text, account_ref text, state text,
	current_only boolean, will_renew boolean, expires_at timestamptz, transaction_id text,
	amount_minor bigint, currency text, quantity bigint, partial boolean, remark text)
RETURNS text LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	was intake.notification;
	accepted boolean[];
BEGIN
	DELETE FROM intake.notification AS n
	    WHERE n.store = of_store AND n.notification_id = of_id AND n.kind = 'unrecognized'
	      AND (of_id = reprocess.notification_id OR NOT EXISTS (SELECT FROM intake.notification AS o
	          WHERE o.store = of_store AND o.notification_id = reprocess.notification_id))
	    RETURNING * INTO was;
	IF NOT FOUND THEN
		RETURN CASE WHEN of_id = reprocess.notification_id THEN 'gone' ELSE 'duplicate' END;
	END IF;
	accepted := intake.receive(ARRAY[of_store], ARRAY[reprocess.notification_id], ARRAY[reprocess.kind],
	    ARRAY[reprocess.native_type], ARRAY[reprocess.rank], ARRAY[purchase_id],
	    ARRAY[reprocess.occurred_at], ARRAY[was.received_at], ARRAY[was.traceparent],
	    ARRAY[was.trace_link], ARRAY[reprocess.product_id], ARRAY[reprocess.account_ref],
	    ARRAY[reprocess.state], ARRAY[reprocess.current_only], ARRAY[reprocess.will_renew],
	    ARRAY[reprocess.expires_at], ARRAY[reprocess.transaction_id], ARRAY[reprocess.amount_minor],
	    ARRAY[reprocess.currency], ARRAY[reprocess.quantity], ARRAY[reprocess.partial],
	    ARRAY[reprocess.remark], ARRAY[was.body]);
	IF NOT accepted[1] THEN
		RAISE EXCEPTION 'notification % of % was received meanwhile', reprocess.notification_id, of_store
		    USING ERRCODE = 'serialization_failure';
	END IF;
	RETURN 'done';
END
$$;
COMMENT ON FUNCTION intake.reprocess IS 'A quarantined notification as it is understood now: done; gone: it is not quarantined any more; duplicate: it was received again meanwhile, under its own id. Writes notification, purchase, outbox';
REVOKE ALL ON FUNCTION intake.reprocess FROM PUBLIC;

-- Every transaction from now on must come after all that is stored, in the order by which ticks tell
-- what they have seen.  A cluster that was upgraded in place goes on above its old numbers; another one
-- needs an offset.  Reads all of notification, purchase, outbox and tick.
CREATE FUNCTION intake.rebase(OUT highest xid8, OUT lowest xid8, OUT offset_was bigint, OUT offset_is bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	LOCK TABLE intake.setting IN ACCESS EXCLUSIVE MODE;
	SELECT greatest(
	    (SELECT max(xid::text::bigint) FROM intake.notification),
	    (SELECT max(xid::text::bigint) FROM intake.purchase),
	    (SELECT max(xid::text::bigint) FROM intake.outbox),
	    (SELECT max(pg_snapshot_xmax(snapshot)::text::bigint) FROM intake.tick),
	    s.xid_floor::text::bigint)::text::xid8, pg_snapshot_xmin(pg_current_snapshot()), s.xid_offset
	INTO STRICT highest, lowest, offset_was FROM intake.setting AS s;
	offset_is := greatest(offset_was, highest::text::bigint + 1 - lowest::text::bigint);
	UPDATE intake.setting SET xid_offset = offset_is,
	    system_identifier = (SELECT system_identifier FROM pg_control_system());
END
$$;
COMMENT ON FUNCTION intake.rebase IS 'Adopt the cluster that this is: highest is what is stored, lowest what any transaction from now on has without an offset. For the owner, while no service runs. Writes setting';
REVOKE ALL ON FUNCTION intake.rebase FROM PUBLIC;
