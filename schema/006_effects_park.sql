-- Messages that cannot be applied: parked in order, tried again by the shard's owner, marked by operators.
--
--             the handler's error             starts = --max-attempts
--   stream ─────────────────────▶ retrying ───────────────────────────▶ failed
--     │                            ▲    │ ▲                               │
--     │ its subject is parked      │    │ └──the owner starts it── retry ◀┤ umavez dead-letter
--     └──────────▶ held ──its turn─┘    │ applied                         │
--                                       ▼                                 ▼
--                                     inbox ◀─────────without effects── discard
--
-- Whatever moves a row into or out of this table holds the row lock of the shard's cursor: so whether a
-- message of the stream waits, and whose turn it is next, is decided by one transaction after the other.
-- Two owners cannot both move a row: a start raises `starts`, and what follows it compares.

CREATE FUNCTION effects.note(history jsonb, entry jsonb)
RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE WHEN jsonb_array_length(history) < 20 THEN history ELSE history - 0 END || entry
$$;
COMMENT ON FUNCTION effects.note IS 'A history with one more entry; the oldest make room';

-- Here and below plans are made anew for each call: one that was made while next to nothing was parked
-- would be kept, and read a pile of dead letters whole for every batch.  OFFSET 0 has each message looked
-- for by index, where the planner might put all that is parked into a hash.
CREATE FUNCTION effects.hold(
	for_consumer text, of_shard smallint, stream_ids text[], sources text[], message_ids text[],
	subjects text[], traceparents text[], published_ats timestamptz[], read_at timestamptz,
	events text[], OUT waiting bigint[], OUT held bigint)
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_custom_plan AS $$
BEGIN
	waiting := '{}';
	held := 0;
	IF NOT EXISTS (SELECT FROM effects.parked WHERE consumer = for_consumer AND shard = of_shard) THEN
		RETURN;
	END IF;
	WITH behind AS (
		SELECT g.*
		FROM unnest(stream_ids, sources, message_ids, subjects, traceparents, published_ats, events)
		    WITH ORDINALITY AS g(stream_id, source, message_id, subject, traceparent, published_at,
		    event, n)
		WHERE (EXISTS (SELECT FROM effects.parked AS p
		          WHERE p.consumer = for_consumer AND p.shard = of_shard AND p.subject = g.subject
		            AND hashtextextended(p.subject, 0) = hashtextextended(g.subject, 0) OFFSET 0)
		       OR EXISTS (SELECT FROM effects.parked AS p
		          WHERE p.consumer = for_consumer AND p.source = g.source
		            AND p.message_id = g.message_id OFFSET 0))
		  AND NOT EXISTS (SELECT FROM effects.inbox AS i
		      WHERE i.consumer = for_consumer AND i.source = g.source
		        AND i.message_id = g.message_id OFFSET 0)
	), first AS (
		SELECT DISTINCT ON (source COLLATE "C", message_id COLLATE "C") *
		FROM behind ORDER BY source COLLATE "C", message_id COLLATE "C", n
	), inserted AS (
		INSERT INTO effects.parked (consumer, source, message_id, subject, shard, stream_id,
		    traceparent, published_at, delivered_at, event, state)
		SELECT for_consumer, source, message_id, subject, of_shard, stream_id, traceparent,
		    published_at, read_at, event, 'held'
		FROM first ORDER BY n -- the order of the places that they draw
		ON CONFLICT (consumer, source, message_id) DO NOTHING
		RETURNING source
	)
	SELECT coalesce((SELECT array_agg(n) FROM behind), '{}'), (SELECT count(*) FROM inserted)
	INTO waiting, held;
END
$$;
COMMENT ON FUNCTION effects.hold IS 'Park those of a batch that come behind a parked message of their subject: which must not be applied now, parked before or not, and how many are held anew. Under the cursor''s row lock. Writes parked';

CREATE FUNCTION effects.park(
	for_consumer text, of_shard smallint, from_id text, to_id text, entry_id text, of_source text,
	id text, about text, parent text, published timestamptz, read_at timestamptz, body text,
	as_state text, begun integer, wait_ms float8, why text, said_besides text)
RETURNS boolean LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_custom_plan AS $$
BEGIN
	UPDATE effects.cursor SET stream_id = to_id, starts_at = NULL, starts = 0
	WHERE consumer = for_consumer AND shard = of_shard AND stream_id = from_id;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	INSERT INTO effects.parked (consumer, source, message_id, subject, shard, stream_id,
	    traceparent, published_at, delivered_at, event, state, starts, next_at, error, context,
	    history)
	SELECT for_consumer, of_source, id, about, of_shard, entry_id, parent, published, read_at, body,
	    -- Given up behind one that is parked (its owners died of something else): in its turn.
	    CASE WHEN EXISTS (SELECT FROM effects.parked AS p
	             WHERE p.consumer = for_consumer AND p.shard = of_shard AND p.subject = about
	               AND hashtextextended(p.subject, 0) = hashtextextended(about, 0))
	         THEN 'held' ELSE as_state END, begun, clock_timestamp() + wait_ms * interval '1 millisecond', why,
	    said_besides,
	    effects.note('[]', jsonb_build_object('at', clock_timestamp(), 'start', begun, 'error', why))
	-- Its owners may have died of something else while it came again.
	WHERE NOT EXISTS (SELECT FROM effects.inbox AS i
	    WHERE i.consumer = for_consumer AND i.source = of_source AND i.message_id = id)
	ON CONFLICT (consumer, source, message_id) DO NOTHING;
	RETURN true;
END
$$;
COMMENT ON FUNCTION effects.park IS 'Park a message that failed, unless it was applied before, and move the cursor past it; false if the cursor had moved. Writes cursor, parked';

CREATE FUNCTION effects.give_turn(for_consumer text, of_shard smallint, about text)
RETURNS void LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_custom_plan AS $$
BEGIN
	UPDATE effects.parked AS p SET state = 'retrying', next_at = clock_timestamp()
	FROM (SELECT source, message_id FROM effects.parked
	      WHERE consumer = for_consumer AND shard = of_shard AND subject = about
	        AND hashtextextended(subject, 0) = hashtextextended(about, 0)
	      ORDER BY place LIMIT 1) AS first
	WHERE p.consumer = for_consumer AND p.source = first.source AND p.message_id = first.message_id
	  AND p.state = 'held';
END
$$;
COMMENT ON FUNCTION effects.give_turn IS 'The first of a subject, if it was held, is due now. Under the cursor''s row lock. Writes parked';

CREATE FUNCTION effects.release(
	for_consumer text, by_instance text, of_shard smallint, of_source text, id text, begun integer,
	handler regprocedure)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	p effects.parked;
BEGIN
	PERFORM FROM effects.cursor WHERE consumer = for_consumer AND shard = of_shard FOR UPDATE;
	DELETE FROM effects.parked
	WHERE consumer = for_consumer AND source = of_source AND message_id = id AND shard = of_shard
	  AND starts = begun AND state IN ('retrying', 'retry', 'discard')
	RETURNING * INTO p;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	INSERT INTO effects.inbox (consumer, source, message_id, subject, shard, stream_id, traceparent,
	    published_at, delivered_at, instance, discarded)
	VALUES (for_consumer, of_source, id, p.subject, of_shard, p.stream_id, p.traceparent,
	    p.published_at, p.delivered_at, by_instance,
	    CASE WHEN p.state = 'discard' THEN coalesce(p.remark, '') END)
	ON CONFLICT (consumer, source, message_id) DO NOTHING;
	IF FOUND AND p.state <> 'discard' THEN
		EXECUTE format('SELECT %s($1::json)', handler::oid::regproc) USING p.event;
	END IF;
	PERFORM effects.give_turn(for_consumer, of_shard, p.subject);
	RETURN true;
END
$$;
COMMENT ON FUNCTION effects.release IS 'Apply a parked message after its start was counted, or pass over a discarded one, and give the next of its subject its turn; false if somebody else has moved it. Writes parked, inbox, and what the handler writes';

CREATE FUNCTION effects.mark(for_consumer text, of_source text, id text, as_state text, why text)
RETURNS boolean LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE effects.parked SET state = as_state, next_at = clock_timestamp(), remark = why,
	    history = effects.note(history, jsonb_build_object('at', clock_timestamp(),
	        'marked', as_state, 'by', session_user, 'reason', why))
	WHERE consumer = for_consumer AND source = of_source AND message_id = id
	  AND (as_state = 'retry' AND state IN ('failed', 'retrying')
	       OR as_state = 'discard' AND state IN ('failed', 'retrying', 'held', 'retry'));
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION effects.mark IS 'An operator''s wish, retry or discard, for the shard''s owner to fulfil; false if there is no such message, or it is in a state that does not allow this. Writes parked';
REVOKE ALL ON FUNCTION effects.mark FROM PUBLIC;
