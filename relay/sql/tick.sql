-- Cut the next tick if it is due.
-- $1 shard  $2 the last tick, as the relay knows it  $3 the least name that the tick may get
-- Gives one row.  moved: the chain does not end in $2.  nests: this snapshot follows from the last
-- tick's.  due: a tick is to be cut; tick: it was (NULL although due: another relay was faster).
WITH last AS MATERIALIZED (
	SELECT tick, snapshot, at, intake.current_snapshot() AS now_sees
	FROM intake.tick WHERE shard = $1 ORDER BY tick DESC LIMIT 1
), judged AS MATERIALIZED (
	SELECT last.*, tick <> $2 AS moved,
	    pg_snapshot_xmin(now_sees) >= pg_snapshot_xmin(snapshot)
	        AND pg_snapshot_xmax(now_sees) >= pg_snapshot_xmax(snapshot)
	        AND NOT EXISTS (SELECT FROM pg_snapshot_xip(now_sees) AS x
	            WHERE pg_visible_in_snapshot(x, snapshot)) AS nests,
	    -- LIMIT keeps this a probe of the index for each range, whatever the statistics say.
	    tick = $2 AND EXISTS (SELECT FROM intake.xid_ranges(now_sees, snapshot) AS r
	        CROSS JOIN LATERAL (SELECT FROM intake.outbox AS o
	            WHERE o.shard = $1 AND o.xid >= r.first AND o.xid < r.past LIMIT 1) AS o) AS has_rows,
	    -- An empty tick moves the window over what is finished.
	    CASE WHEN at < clock_timestamp() - interval '1 minute'
	         THEN pg_snapshot_xmax(now_sees) > pg_snapshot_xmax(snapshot)
	         WHEN at < clock_timestamp() - interval '1 second'
	         THEN EXISTS (SELECT FROM pg_snapshot_xip(now_sees) AS x
	             WHERE x >= pg_snapshot_xmax(snapshot))
	         ELSE false END AS has_passed
	FROM last
), cut AS (
	INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)
	SELECT $1, tick,
	    greatest(tick + 1, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), now_sees
	FROM judged WHERE NOT moved AND nests AND (has_rows OR has_passed)
	ON CONFLICT DO NOTHING
	RETURNING tick
)
SELECT moved, nests, has_rows OR has_passed AS due, has_rows, (SELECT tick FROM cut) AS tick
FROM judged
