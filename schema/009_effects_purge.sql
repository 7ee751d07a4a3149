-- Purging the inbox: what can never be delivered again need not be remembered.  And forgetting a consumer.

CREATE INDEX inbox_age ON effects.inbox (consumer, shard, processed_at);

CREATE FUNCTION effects.position_key(stream_id text)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT split_part(stream_id, '-', 1)::numeric * 18446744073709551616 + split_part(stream_id, '-', 2)::numeric
$$;
COMMENT ON FUNCTION effects.position_key IS 'A stream ID as a number that is ordered as IDs are: both of its halves are unsigned 64 bits';

CREATE FUNCTION effects.key_position(key numeric)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT div(key, 18446744073709551616) || '-' || mod(key, 18446744073709551616)
$$;
COMMENT ON FUNCTION effects.key_position IS 'The stream ID behind position_key()';

-- The cursor's row is locked first, as by every batch: a batch finds either a row or the purge_floor
-- that tells of it, never neither.  The lock is waited for at most 100 ms.
--
-- What is looked at is bounded, not only what goes: rows that are old but not below the floor stay.
CREATE FUNCTION effects.purge_inbox(for_consumer text, of_shard smallint, floor text, keep_ms bigint,
    after timestamptz, at_most integer, OUT purged bigint, OUT looked_up_to timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '100ms' SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
	looked bigint;
	highest numeric;
BEGIN
	purged := 0;
	PERFORM FROM effects.cursor WHERE consumer = for_consumer AND shard = of_shard FOR NO KEY UPDATE;
	IF NOT FOUND OR floor IS NULL THEN
		RETURN;
	END IF;
	WITH old AS MATERIALIZED (
		SELECT i.ctid AS place, i.processed_at, effects.position_key(i.stream_id) AS key
		FROM effects.inbox AS i
		WHERE i.consumer = for_consumer AND i.shard = of_shard AND i.processed_at > after
		  AND i.processed_at < clock_timestamp() - make_interval(secs => keep_ms / 1000.0)
		ORDER BY i.processed_at LIMIT at_most
	), gone AS (
		DELETE FROM effects.inbox WHERE ctid = ANY (ARRAY(
		    SELECT place FROM old WHERE key < effects.position_key(floor)))
		  AND NOT EXISTS (SELECT FROM effects.parked AS p WHERE p.consumer = for_consumer
		      AND p.source = inbox.source AND p.message_id = inbox.message_id)
		RETURNING effects.position_key(stream_id) AS key
	)
	SELECT (SELECT count(*) FROM old), (SELECT max(processed_at) FROM old), count(*), max(key)
	INTO looked, looked_up_to, purged, highest FROM gone;
	IF looked < at_most THEN
		looked_up_to := NULL;
	END IF;
	UPDATE effects.cursor SET purge_floor = effects.key_position(highest + 1)
	WHERE consumer = for_consumer AND shard = of_shard AND highest IS NOT NULL
	  AND coalesce(effects.position_key(purge_floor) <= highest, true);
END
$$;
COMMENT ON FUNCTION effects.purge_inbox IS 'Look at so many inbox rows that were processed so long ago, after a given one, and remove those whose last stream ID is below the floor. looked_up_to: go on after this; NULL: that was all. Writes inbox, cursor.purge_floor';
REVOKE ALL ON FUNCTION effects.purge_inbox FROM PUBLIC;

-- Whether such a message was applied before is no longer known: a person must say so.  It fails before
-- the batch is looked at, so that what comes behind it of its subject is held.  A message that was
-- republished stands above the floor, and may have been applied below it all the same.
CREATE FUNCTION effects.park_purged(
	for_consumer text, of_shard smallint, purge_floor text, stream_ids text[],
	first_positions text[], sources text[], message_ids text[], subjects text[],
	traceparents text[], published_ats timestamptz[], read_at timestamptz, events text[])
RETURNS void LANGUAGE sql VOLATILE AS $$
	INSERT INTO effects.parked (consumer, source, message_id, subject, shard, stream_id,
	    traceparent, published_at, delivered_at, event, state, error)
	SELECT for_consumer, source, message_id, subject, of_shard, stream_id, traceparent, published_at,
	    read_at, event, 'failed',
	    format('first appeared at %s, and the inbox is purged below %s: it may have been applied',
	        first_position, purge_floor)
	FROM unnest(stream_ids, first_positions, sources, message_ids, subjects, traceparents, published_ats,
	    events) WITH ORDINALITY AS g(stream_id, first_position, source, message_id, subject, traceparent,
	    published_at, event, n)
	WHERE effects.position_key(first_position) < effects.position_key(purge_floor)
	  AND NOT EXISTS (SELECT FROM effects.inbox AS i WHERE i.consumer = for_consumer
	      AND i.source = g.source AND i.message_id = g.message_id)
	ORDER BY n
	ON CONFLICT (consumer, source, message_id) DO NOTHING
$$;
COMMENT ON FUNCTION effects.park_purged IS 'Park those of a batch that may have been applied and forgotten. Under the cursor''s row lock. Writes parked';

CREATE FUNCTION effects.raise_positions(for_consumer text, stream_ids text[], sources text[], message_ids text[])
RETURNS void LANGUAGE sql VOLATILE AS $$
	UPDATE effects.inbox AS i SET stream_id = g.stream_id
	FROM unnest(stream_ids, sources, message_ids) AS g(stream_id, source, message_id)
	WHERE i.consumer = for_consumer AND i.source = g.source AND i.message_id = g.message_id
	  AND effects.position_key(i.stream_id) < effects.position_key(g.stream_id)
$$;
COMMENT ON FUNCTION effects.raise_positions IS 'What came again is remembered until its last position is below the floor. Under the cursor''s row lock. Writes inbox';

CREATE FUNCTION effects.forget_obstacle(for_consumer text)
RETURNS text LANGUAGE sql STABLE AS $$
	SELECT CASE
	    WHEN alive IS NOT NULL THEN
	        format('it is alive: stop %s (one that was killed is alive until its lease ends)', alive)
	    WHEN parked IS NOT NULL THEN
	        format('messages are parked for it (%s): have them applied, or have each marked by umavez dead-letter discard', parked)
	    END
	FROM (SELECT
	    (SELECT string_agg(holder, ', ' ORDER BY holder) FROM (
	         SELECT holder FROM effects.instance
	         WHERE consumer = for_consumer AND expires_at > clock_timestamp()
	         UNION
	         SELECT holder FROM effects.shard_lease
	         WHERE consumer = for_consumer AND holder IS NOT NULL AND expires_at > clock_timestamp()) AS holders) AS alive,
	    (SELECT string_agg(n || ' ' || state, ', ' ORDER BY state) FROM (
	         SELECT state, count(*) AS n FROM effects.parked
	         WHERE consumer = for_consumer AND state <> 'discard' GROUP BY state) AS states) AS parked) AS found
$$;
COMMENT ON FUNCTION effects.forget_obstacle IS 'Why a consumer may not be forgotten; NULL: nothing stands against it';

-- What is asked for comes after its cursors and free leases are gone, and their row locks held: a process
-- that makes them again waits for the end of this, and had said before that it lives (common/lease_table.c).
CREATE FUNCTION effects.forget_consumer(for_consumer text)
RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	obstacle text;
BEGIN
	DELETE FROM effects.cursor WHERE consumer = for_consumer;
	DELETE FROM effects.shard_lease
	WHERE consumer = for_consumer AND (holder IS NULL OR expires_at <= clock_timestamp());
	obstacle := effects.forget_obstacle(for_consumer);
	IF obstacle IS NOT NULL THEN
		RAISE object_in_use USING MESSAGE = obstacle;
	END IF;
	DELETE FROM effects.instance WHERE consumer = for_consumer;
	DELETE FROM effects.parked WHERE consumer = for_consumer;
	DELETE FROM effects.inbox WHERE consumer = for_consumer;
END
$$;
COMMENT ON FUNCTION effects.forget_consumer IS 'Forget that there was such a consumer, unless it lives or has messages parked; what its handler wrote stays. Writes cursor, shard_lease, instance, parked, inbox';
REVOKE ALL ON FUNCTION effects.forget_consumer FROM PUBLIC;
