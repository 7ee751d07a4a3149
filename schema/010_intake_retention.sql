-- Retention: partitions of outbox and tick dropped behind what everybody has acknowledged, DEFAULT
-- swept, bodies nulled.
--
-- As with partitions (008): no insert waits for longer than a lock timeout of 100 ms, and each call is
-- one small piece of work, and safe to repeat.

CREATE TABLE intake.retained (
	shard         smallint PRIMARY KEY,
	tick          bigint NOT NULL,
	previous_tick bigint NOT NULL,
	at            timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE intake.retained IS 'From where on a shard''s rows are retained: the floor, which never goes back';
COMMENT ON COLUMN intake.retained.shard IS 'Whose';
COMMENT ON COLUMN intake.retained.tick IS 'The floor: no row whose stream ID is below <tick>-0 can be published again. Announced in Redis';
COMMENT ON COLUMN intake.retained.previous_tick IS 'The floor''s predecessor: the chain of ticks is retained from here on';
COMMENT ON COLUMN intake.retained.at IS 'When it was last lifted';

-- The tick from which on everything must be readable, when it must be from `from_tick` on: a later
-- repair or replay may start further back.
CREATE FUNCTION intake.whole_from(of_shard smallint, from_tick bigint)
RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	lower bigint;
BEGIN
	LOOP
		lower := (SELECT min(r.from_tick) FROM intake.tick AS r
		    WHERE r.shard = of_shard AND r.from_tick < whole_from.from_tick
		      AND r.tick >= whole_from.from_tick);
		EXIT WHEN lower IS NULL;
		from_tick := lower;
	END LOOP;
	RETURN from_tick;
END
$$;
COMMENT ON FUNCTION intake.whole_from IS 'The lowest tick that later ticks of a shard refer to, or the given one';

-- A replay or repair behind the position has rows that are not acknowledged, whatever they are.
CREATE FUNCTION intake.has_unacknowledged(of_shard smallint, at_tick bigint, at_id bigint)
RETURNS boolean LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN EXISTS (SELECT FROM intake.tick AS r
	        WHERE r.shard = of_shard AND r.from_tick IS NOT NULL AND r.tick > at_tick)
	    OR EXISTS (SELECT FROM intake.tick_ranges(of_shard, at_tick) AS r
	        CROSS JOIN LATERAL (SELECT FROM intake.outbox AS o WHERE o.shard = of_shard
	            AND o.xid >= r.first AND o.xid < r.past AND o.id > greatest(r.after_id, at_id) LIMIT 1) AS o)
	    OR EXISTS (SELECT FROM (SELECT snapshot FROM intake.tick
	            WHERE shard = of_shard ORDER BY tick DESC LIMIT 1) AS l
	        JOIN intake.tick AS t ON t.shard = of_shard AND t.tick = at_tick
	        CROSS JOIN LATERAL intake.xid_ranges(l.snapshot, t.snapshot) AS r
	        CROSS JOIN LATERAL (SELECT FROM intake.outbox AS o WHERE o.shard = of_shard
	            AND o.xid >= r.first AND o.xid < r.past LIMIT 1) AS o);
END
$$;
COMMENT ON FUNCTION intake.has_unacknowledged IS 'Whether a shard has rows behind a position, up to its last tick';

-- What every group has acknowledged.  Of a shard that has been idle since, the position moves on
-- over empty ticks; else a quiet shard would hold back everybody's ticks for as long as it is quiet.
CREATE FUNCTION intake.acknowledged(of_shard smallint, OUT tick bigint, OUT seen pg_snapshot, OUT holder text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	slowest intake.stream_group;
	at_id bigint := 9223372036854775807;
BEGIN
	SELECT * INTO slowest FROM intake.stream_group AS g WHERE g.shard = of_shard
	ORDER BY g.acknowledged_tick, g.acknowledged_id LIMIT 1;
	IF NOT FOUND THEN
		holder := format('shard %s: no group has ever read its stream', of_shard);
		RETURN;
	END IF;
	holder := format('shard %s: group %s has acknowledged up to %s-%s', of_shard, slowest.name,
	    slowest.acknowledged_tick, slowest.acknowledged_id);
	tick := (SELECT max(t.tick) FROM intake.tick AS t
	    WHERE t.shard = of_shard AND t.tick <= slowest.acknowledged_tick);
	IF tick IS NULL THEN
		tick := (SELECT min(t.tick) FROM intake.tick AS t WHERE t.shard = of_shard);
		at_id := 0;
	ELSIF tick = slowest.acknowledged_tick THEN
		at_id := slowest.acknowledged_id;
	END IF;
	IF NOT intake.has_unacknowledged(of_shard, tick, at_id) THEN
		tick := (SELECT max(t.tick) FROM intake.tick AS t WHERE t.shard = of_shard);
	END IF;
	tick := intake.whole_from(of_shard, tick);
	seen := coalesce((SELECT p.snapshot
	    FROM intake.tick AS f JOIN intake.tick AS p ON p.shard = f.shard AND p.tick = f.previous_tick
	    WHERE f.shard = of_shard AND f.tick = acknowledged.tick), '1:1:');
END
$$;
COMMENT ON FUNCTION intake.acknowledged IS 'The floor tick, and the snapshot of its predecessor: what that sees has been acknowledged by every group ever seen on the shard. NULL: there is no group. holder: who holds it back';

-- By index (shard, xid), whatever the partition holds: a row that the snapshot does not see has one
-- of these transactions.  Rows that are not committed are not looked for: their writers hold a lock
-- on the partition, and whoever has locked it knows that there are none.
CREATE FUNCTION intake.holds_unseen(partition regclass, of_shard smallint, seen pg_snapshot)
RETURNS boolean LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
	found_one boolean;
BEGIN
	EXECUTE format('SELECT EXISTS (SELECT FROM %1$s WHERE shard = $1 AND xid >= pg_snapshot_xmax($2))'
	    ' OR EXISTS (SELECT FROM pg_snapshot_xip($2) AS x CROSS JOIN LATERAL'
	    ' (SELECT FROM %1$s AS o WHERE o.shard = $1 AND o.xid = x LIMIT 1) AS o)', partition)
	INTO found_one USING of_shard, seen;
	RETURN found_one;
END
$$;
COMMENT ON FUNCTION intake.holds_unseen IS 'Whether a partition of outbox holds committed rows of a shard that a snapshot does not see';

-- seen[n + 1] is what everybody has acknowledged of shard n, as acknowledged() told it.
CREATE FUNCTION intake.outbox_holder(partition regclass, seen pg_snapshot[])
RETURNS smallint LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	FOR n IN 1 .. cardinality(seen) LOOP
		IF seen[n] IS NULL OR intake.holds_unseen(partition, (n - 1)::smallint, seen[n]) THEN
			RETURN n - 1;
		END IF;
	END LOOP;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION intake.outbox_holder IS 'The shard that keeps a partition of outbox from being dropped; NULL: none';

-- A tick's row says what it sees, and its predecessor's what it does not: the chain is kept from the
-- floor's predecessor on, and from wherever later ticks refer to.
CREATE FUNCTION intake.chain_kept_from(of_shard smallint)
RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN (SELECT t.previous_tick FROM intake.retained AS r
	    JOIN intake.tick AS t ON t.shard = r.shard AND t.tick = intake.whole_from(of_shard, r.tick)
	    WHERE r.shard = of_shard);
END
$$;
COMMENT ON FUNCTION intake.chain_kept_from IS 'The tick from which on a shard''s ticks must stay; NULL: all must';

-- A partition that would take the next tick is kept too.
CREATE FUNCTION intake.tick_holder(partition regclass, end_ms bigint)
RETURNS smallint LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
	n smallint;
	kept bigint;
	found_one boolean;
BEGIN
	FOR n IN SELECT generate_series(0, s.shards - 1) FROM intake.setting AS s LOOP
		kept := intake.chain_kept_from(n);
		IF kept IS NULL OR end_ms > kept THEN
			RETURN n;
		END IF;
		EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE shard = $1 AND tick >= $2)', partition)
		INTO found_one USING n, kept;
		IF found_one THEN
			RETURN n;
		END IF;
	END LOOP;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION intake.tick_holder IS 'The shard that keeps a partition of tick, which ends at end_ms, from being dropped; NULL: none';

CREATE FUNCTION intake.holder_of(p intake.partition, seen pg_snapshot[])
RETURNS smallint LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF p.parent = 'outbox' THEN
		RETURN intake.outbox_holder(p.relation, seen);
	END IF;
	RETURN intake.tick_holder(p.relation, intake.day_ms(p.end_day));
END
$$;
COMMENT ON FUNCTION intake.holder_of IS 'The shard that keeps a partition from being dropped; NULL: none';

-- The parent is locked first, as everybody else does who uses both, and waited for at most for the
-- lock timeout; the partition not at all.  Only then nobody can commit a row into it, and the second
-- look is the one that counts.  seen was true before: what is acknowledged stays acknowledged.
CREATE FUNCTION intake.drop_partition(p intake.partition, seen pg_snapshot[])
RETURNS boolean LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	holder smallint;
BEGIN
	EXECUTE format('LOCK TABLE ONLY intake.%I IN ACCESS EXCLUSIVE MODE', p.parent);
	EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE NOWAIT', p.relation::regclass);
	holder := intake.holder_of(p, seen);
	IF holder IS NULL THEN
		EXECUTE format('DROP TABLE %s', p.relation::regclass);
	END IF;
	RETURN holder IS NULL;
EXCEPTION WHEN lock_not_available THEN
	RETURN false;
END
$$;
COMMENT ON FUNCTION intake.drop_partition IS 'Drop one partition if it still may go; false: it may not, or somebody uses it';
REVOKE ALL ON FUNCTION intake.drop_partition FROM PUBLIC;

CREATE FUNCTION intake.drop_expired(keep_ms bigint, OUT dropped text, OUT held text, OUT reason text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '100ms' AS $$
DECLARE
	past date := ((clock_timestamp() - make_interval(secs => keep_ms / 1000.0)) AT TIME ZONE 'UTC')::date;
	p intake.partition;
	seen pg_snapshot[];
	holders text[];
	holder smallint;
BEGIN
	IF NOT EXISTS (SELECT FROM intake.partition AS e WHERE e.end_day <= past)
	    OR NOT pg_try_advisory_xact_lock(1970102646, 6582128) THEN
		RETURN;
	END IF;
	SELECT array_agg(a.seen ORDER BY n), array_agg(a.holder ORDER BY n) INTO seen, holders
	FROM intake.setting AS s CROSS JOIN generate_series(0, s.shards - 1) AS n
	CROSS JOIN LATERAL intake.acknowledged(n::smallint) AS a;
	FOR p IN SELECT * FROM intake.partition AS e WHERE e.end_day <= past ORDER BY e.parent, e.end_day LOOP
		holder := intake.holder_of(p, seen);
		IF holder IS NULL AND intake.drop_partition(p, seen) THEN
			dropped := intake.partition_name(p.parent, p.first_day);
			RETURN;
		END IF;
		-- Its younger neighbours may go nevertheless; what is told is who holds back the oldest.
		IF held IS NULL THEN
			held := intake.partition_name(p.parent, p.first_day);
			reason := coalesce(holders[holder + 1], 'a transaction uses it or ' || p.parent);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION intake.drop_expired IS 'Drop at most one partition that ended so long ago and that every group has acknowledged. dropped: which; held and reason: the oldest that must stay, and why. One caller works, the others get nothing';
REVOKE ALL ON FUNCTION intake.drop_expired FROM PUBLIC;

-- xmax of snapshots grows along the chain, so this is a binary search by names, not a scan.
CREATE FUNCTION intake.first_tick_with(of_shard smallint, least_xid xid8, up_to bigint)
RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	low bigint; -- no tick up to here sees least_xid or anything after it
	high bigint := up_to; -- a tick that may
	middle intake.tick;
BEGIN
	SELECT * INTO middle FROM intake.tick AS t WHERE t.shard = of_shard ORDER BY t.tick LIMIT 1;
	IF middle.tick >= up_to OR pg_snapshot_xmax(middle.snapshot) > least_xid THEN
		RETURN least(middle.tick, up_to);
	END IF;
	low := middle.tick;
	WHILE high - low > 1 LOOP
		SELECT * INTO middle FROM intake.tick AS t
		WHERE t.shard = of_shard AND t.tick <= low + (high - low) / 2 ORDER BY t.tick DESC LIMIT 1;
		IF pg_snapshot_xmax(middle.snapshot) <= least_xid THEN
			low := low + (high - low) / 2;
		ELSE
			high := middle.tick;
		END IF;
	END LOOP;
	RETURN high;
END
$$;
COMMENT ON FUNCTION intake.first_tick_with IS 'The first tick, up to a given one, that may see a transaction or a later one';

-- What is not committed yet comes with a later tick than every one that is there now, so the oldest
-- row that can be seen is enough.
CREATE FUNCTION intake.lift_retained()
RETURNS SETOF intake.retained LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
	n smallint;
	a record;
	least_xid xid8;
BEGIN
	FOR n IN SELECT generate_series(0, s.shards - 1) FROM intake.setting AS s LOOP
		SELECT * INTO a FROM intake.acknowledged(n);
		CONTINUE WHEN a.seen IS NULL;
		least_xid := (SELECT o.xid FROM intake.outbox AS o WHERE o.shard = n ORDER BY o.xid LIMIT 1);
		IF least_xid IS NOT NULL THEN
			a.tick := intake.first_tick_with(n, least_xid, a.tick);
		END IF;
		INSERT INTO intake.retained AS r (shard, tick, previous_tick)
		SELECT n, t.tick, t.previous_tick FROM intake.tick AS t
		WHERE t.shard = n AND t.tick = intake.whole_from(n, a.tick)
		ON CONFLICT (shard) DO UPDATE SET tick = excluded.tick,
		    previous_tick = excluded.previous_tick, at = clock_timestamp()
		WHERE r.tick < excluded.tick;
	END LOOP;
	RETURN QUERY SELECT * FROM intake.retained AS r ORDER BY r.shard;
END
$$;
COMMENT ON FUNCTION intake.lift_retained IS 'Bring every shard''s floor up to the first tick that may have rows left; gives them. Writes retained';
REVOKE ALL ON FUNCTION intake.lift_retained FROM PUBLIC;

CREATE FUNCTION intake.sweep_default(keep_ms bigint, at_most integer)
RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '100ms' SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
	past timestamptz := clock_timestamp() - make_interval(secs => keep_ms / 1000.0);
	n smallint;
	kept bigint;
	removed bigint;
	total bigint := 0;
BEGIN
	IF NOT pg_try_advisory_xact_lock(1970102646, 6582128) THEN
		RETURN 0;
	END IF;
	FOR n IN SELECT generate_series(0, s.shards - 1) FROM intake.setting AS s LOOP
		DELETE FROM intake.outbox_default WHERE created_at < past AND ctid = ANY (ARRAY(
		    SELECT o.ctid FROM intake.acknowledged(n) AS a JOIN intake.outbox_default AS o
		        ON o.shard = n AND o.xid < pg_snapshot_xmin(a.seen)
		    ORDER BY o.xid LIMIT at_most));
		GET DIAGNOSTICS removed = ROW_COUNT;
		total := total + removed;
		kept := intake.chain_kept_from(n);
		DELETE FROM intake.tick_default WHERE ctid = ANY (ARRAY(
		    SELECT t.ctid FROM intake.tick_default AS t
		    WHERE t.shard = n AND t.tick < kept AND t.tick < extract(epoch FROM past) * 1000
		    ORDER BY t.tick LIMIT at_most));
		GET DIAGNOSTICS removed = ROW_COUNT;
		total := total + removed;
	END LOOP;
	RETURN total;
END
$$;
COMMENT ON FUNCTION intake.sweep_default IS 'Remove what retention allows from the DEFAULT partitions, so many rows a shard and call; how many went. Writes outbox_default, tick_default';
REVOKE ALL ON FUNCTION intake.sweep_default FROM PUBLIC;

CREATE FUNCTION intake.retention_health(OUT oldest_day date, OUT partitions integer, OUT days_ahead integer,
    OUT default_rows bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	SELECT min(p.first_day) FILTER (WHERE p.parent = 'outbox'), count(*)::integer,
	    (least(max(p.end_day) FILTER (WHERE p.parent = 'outbox'), max(p.end_day) FILTER (WHERE p.parent = 'tick'))
	        - (clock_timestamp() AT TIME ZONE 'UTC')::date - 1)::integer,
	    (SELECT count(*) FROM (SELECT FROM intake.outbox_default LIMIT 10000) AS o)
	        + (SELECT count(*) FROM (SELECT FROM intake.tick_default LIMIT 10000) AS t)
	FROM intake.partition AS p
$$;
COMMENT ON FUNCTION intake.retention_health IS 'The oldest partition of outbox, how many days after today have partitions, and rows in the DEFAULT ones (10000 of each are counted at most)';
REVOKE ALL ON FUNCTION intake.retention_health FROM PUBLIC;

-- The key stays: a notification that comes again is a duplicate for ever.
CREATE INDEX notification_body ON intake.notification (received_at)
    WHERE body IS NOT NULL AND kind <> 'unrecognized';

CREATE FUNCTION intake.forget_bodies(keep_ms bigint, at_most integer)
RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '100ms' SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
	forgotten bigint;
BEGIN
	IF NOT pg_try_advisory_xact_lock(1970102646, 6451300) THEN
		RETURN 0;
	END IF;
	UPDATE intake.notification SET body = NULL
	WHERE ctid = ANY (ARRAY(
	    SELECT n.ctid FROM intake.notification AS n
	    WHERE n.body IS NOT NULL AND n.kind <> 'unrecognized'
	      AND n.received_at < clock_timestamp() - make_interval(secs => keep_ms / 1000.0)
	    ORDER BY n.received_at LIMIT at_most FOR UPDATE SKIP LOCKED));
	GET DIAGNOSTICS forgotten = ROW_COUNT;
	RETURN forgotten;
END
$$;
COMMENT ON FUNCTION intake.forget_bodies IS 'Null the bodies of the oldest so many notifications that were received so long ago; how many. Never that of one that could not be understood: it may be reprocessed. Writes notification';
REVOKE ALL ON FUNCTION intake.forget_bodies FROM PUBLIC;
