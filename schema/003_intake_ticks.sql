-- What the relay and the operator's tool both need to know about the chain of ticks.

-- The batch of an ordinary tick is one window: visible in hi, not in lo.  A repair or replay tick
-- starts at a position in the middle of an older batch: the rest of that batch is one more window,
-- and so on if that one was a repair itself.  Windows of one tick are disjoint, since snapshots of
-- a chain nest.
--
-- A tick's row lies in the partition of its previous_tick, which is below the tick itself: the
-- comparisons with previous_tick say nothing new, but leave out the partitions made ahead.  plpgsql,
-- here and below: an SQL function would be planned anew, over all partitions, at every call.
CREATE FUNCTION intake.tick_window(of_shard smallint, of_tick bigint)
RETURNS TABLE (hi pg_snapshot, lo pg_snapshot, after_id bigint)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
	t intake.tick;
BEGIN
	after_id := 0;
	LOOP
		SELECT * INTO t FROM intake.tick AS k
		WHERE k.shard = of_shard AND k.tick = of_tick AND k.previous_tick < of_tick;
		SELECT p.snapshot INTO lo FROM intake.tick AS p
		WHERE p.shard = of_shard AND p.tick = t.previous_tick AND p.previous_tick < t.previous_tick;
		EXIT WHEN NOT FOUND;
		IF t.from_tick IS NOT NULL THEN
			lo := coalesce((SELECT f.snapshot FROM intake.tick AS f
			    WHERE f.shard = of_shard AND f.tick = t.from_tick AND f.previous_tick < t.from_tick), lo);
		END IF;
		hi := t.snapshot;
		RETURN NEXT;
		EXIT WHEN t.from_tick IS NULL;
		after_id := greatest(after_id, t.from_id);
		of_tick := t.from_tick;
	END LOOP;
END
$$;
COMMENT ON FUNCTION intake.tick_window IS 'The rows of a tick: those visible in hi and not in lo with an id above after_id, for each window; none for the root';

-- The rows of a window by index (shard, xid).  Ranges end at transactions that hi saw in progress, so
-- that a million rows of one open transaction are never looked at; every row in a range that can be
-- seen at all is visible in hi and not in lo, since the snapshots nest.
CREATE FUNCTION intake.xid_ranges(hi pg_snapshot, lo pg_snapshot)
RETURNS TABLE (first xid8, past xid8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 4 AS $$
	SELECT b.first::text::xid8, b.past::text::xid8
	FROM (SELECT s.first, lead(s.first - 1, 1, pg_snapshot_xmax(hi)::text::bigint)
	          OVER (ORDER BY s.first) AS past
	      FROM (SELECT pg_snapshot_xmax(lo)::text::bigint AS first
	            UNION ALL
	            SELECT x::text::bigint + 1 FROM pg_snapshot_xip(hi) AS x
	            WHERE x >= pg_snapshot_xmax(lo)) AS s) AS b
	WHERE b.first < b.past
	UNION ALL
	SELECT x, (x::text::bigint + 1)::text::xid8
	FROM pg_snapshot_xip(lo) AS x WHERE pg_visible_in_snapshot(x, hi)
$$;
COMMENT ON FUNCTION intake.xid_ranges IS 'The transactions that are visible in hi and not in lo, as disjoint ranges first <= xid < past; aborted ones are among them';

CREATE FUNCTION intake.tick_ranges(of_shard smallint, of_tick bigint)
RETURNS TABLE (first xid8, past xid8, after_id bigint)
LANGUAGE sql STABLE ROWS 4 AS $$
	SELECT r.first, r.past, w.after_id
	FROM intake.tick_window(of_shard, of_tick) AS w
	CROSS JOIN LATERAL intake.xid_ranges(w.hi, w.lo) AS r
$$;
COMMENT ON FUNCTION intake.tick_ranges IS 'The rows of a tick: those with first <= xid < past and an id above after_id, up to tick_cap()';

-- A repair tick voids every position between the one that it starts from and itself.
CREATE FUNCTION intake.tick_cap(of_shard smallint, of_tick bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN (SELECT CASE WHEN bool_or(r.from_tick < of_tick) THEN NULL
	        ELSE coalesce(min(r.from_id), 9223372036854775807) END
	    FROM intake.tick AS r
	    WHERE r.shard = of_shard AND r.from_tick <= of_tick AND r.tick > of_tick AND NOT r.replay);
END
$$;
COMMENT ON FUNCTION intake.tick_cap IS 'The greatest outbox id that still belongs to this tick; NULL: the tick is void';

CREATE FUNCTION intake.was_in_tick(of_shard smallint, of_tick bigint, row_id bigint, row_xid xid8)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN EXISTS (
	    SELECT FROM intake.tick_window(of_shard, of_tick) AS w
	    WHERE pg_visible_in_snapshot(row_xid, w.hi) AND NOT pg_visible_in_snapshot(row_xid, w.lo)
	      AND row_id > w.after_id);
END
$$;
COMMENT ON FUNCTION intake.was_in_tick IS 'Whether an outbox row, by id and xid, stands in the batch of this tick, or did until a repair made it void there';

CREATE FUNCTION intake.in_tick(of_shard smallint, of_tick bigint, row_id bigint, row_xid xid8)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN row_id <= intake.tick_cap(of_shard, of_tick)
	    AND intake.was_in_tick(of_shard, of_tick, row_id, row_xid);
END
$$;
COMMENT ON FUNCTION intake.in_tick IS 'Whether an outbox row, by id and xid, stands in the batch of this tick';

CREATE FUNCTION intake.ticks_of(row_shard smallint, row_id bigint, row_xid xid8)
RETURNS SETOF intake.tick LANGUAGE sql STABLE AS $$
	SELECT t.* FROM intake.tick AS t
	WHERE t.shard = row_shard AND pg_visible_in_snapshot(row_xid, t.snapshot)
	  AND (t.from_tick IS NOT NULL
	       OR t.tick = (SELECT min(f.tick) FROM intake.tick AS f
	                    WHERE f.shard = row_shard AND pg_visible_in_snapshot(row_xid, f.snapshot)))
	  AND intake.in_tick(row_shard, t.tick, row_id, row_xid)
	ORDER BY t.tick
$$;
COMMENT ON FUNCTION intake.ticks_of IS 'Every tick under which an outbox row is published: one, or more after repairs and replays. For people: reads the whole chain of the shard';
