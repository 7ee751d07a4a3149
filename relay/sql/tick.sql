-- Cut the next tick if it is due, and give its rows at once if they are few.
-- $1 shard  $2 the last tick, as the relay knows it  $3 the least name that the tick may get
-- $4 the most rows that are given  $5 their most bytes
-- Gives rows as read.sql does, and with each, or alone: moved: the chain does not end in $2.  nests:
-- this snapshot follows from the last tick's.  due: a tick is to be cut; tick: it was (NULL although
-- due: another relay was faster).
-- Rows and snapshot are one statement's: what it finds among the transactions between the two
-- snapshots is what the tick's batch is, whenever it is read.
WITH last AS MATERIALIZED (
	SELECT tick, snapshot, at, intake.current_snapshot() AS now_sees
	FROM intake.tick WHERE shard = $1 ORDER BY tick DESC LIMIT 1
), judged AS MATERIALIZED (
	SELECT last.*, tick <> $2 AS moved,
	    pg_snapshot_xmin(now_sees) >= pg_snapshot_xmin(snapshot)
	        AND pg_snapshot_xmax(now_sees) >= pg_snapshot_xmax(snapshot)
	        AND NOT EXISTS (SELECT FROM pg_snapshot_xip(now_sees) AS x
	            WHERE pg_visible_in_snapshot(x, snapshot)) AS nests,
	    -- An empty tick moves the window over what is finished.
	    CASE WHEN at < clock_timestamp() - interval '1 minute'
	         THEN pg_snapshot_xmax(now_sees) > pg_snapshot_xmax(snapshot)
	         WHEN at < clock_timestamp() - interval '1 second'
	         THEN EXISTS (SELECT FROM pg_snapshot_xip(now_sees) AS x
	             WHERE x >= pg_snapshot_xmax(snapshot))
	         ELSE false END AS has_passed
	FROM last
), found AS MATERIALIZED (
	-- LIMIT keeps this a probe of the index for each range, whatever the statistics say.
	SELECT o.* FROM judged CROSS JOIN LATERAL intake.xid_ranges(now_sees, snapshot) AS r
	CROSS JOIN LATERAL (SELECT o.* FROM intake.outbox AS o
	    WHERE o.shard = $1 AND o.xid >= r.first AND o.xid < r.past LIMIT $4 + 1) AS o
	WHERE NOT moved LIMIT $4 + 1
), seen AS MATERIALIZED (
	SELECT count(*) > 0 AS has_rows, count(*) <= $4 AS few FROM found
), cut AS (
	INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)
	SELECT $1, tick,
	    greatest(tick + 1, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), now_sees
	FROM judged CROSS JOIN seen WHERE NOT moved AND nests AND (has_rows OR has_passed)
	ON CONFLICT DO NOTHING
	RETURNING tick
), sized AS (
	SELECT f.*, octet_length(message_id) + octet_length(source) + octet_length(type)
	        + octet_length(subject) + coalesce(octet_length(traceparent), 0)
	        + octet_length(data::text)::bigint AS size
	FROM found AS f WHERE (SELECT few FROM seen)
)
SELECT g.id, g.size, true AS whole, g.message_id, g.source, g.type, g.subject, g.time, g.traceparent,
    g.data, g.first_position, g.created_at,
    moved, nests, has_rows OR has_passed AS due, has_rows, (SELECT tick FROM cut) AS tick
FROM judged CROSS JOIN seen
LEFT JOIN (SELECT *, sum(size) OVER () AS bytes FROM sized) AS g ON g.bytes <= $5
ORDER BY g.id
