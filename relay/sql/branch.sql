-- Cut a repair or replay tick: its batch is every row after a position.
-- $1 shard  $2 the last tick, as the relay knows it  $3 the least name  $4, $5 the position
-- $6 replay
-- A replay begins where it is asked to.  A repair does where the stream's newest entry of ours is; when
-- that position is void, at the least of where the repairs began that made it so, and where its own
-- tick did, if that is one of a repair or replay: what is not void is then in order as before.
-- Gives moved, nests and tick as tick.sql does.
WITH RECURSIVE last AS MATERIALIZED (
	SELECT tick, snapshot, intake.current_snapshot() AS now_sees
	FROM intake.tick WHERE shard = $1 ORDER BY tick DESC LIMIT 1
), judged AS MATERIALIZED (
	SELECT last.*, tick <> $2 AS moved,
	    pg_snapshot_xmin(now_sees) >= pg_snapshot_xmin(snapshot)
	        AND pg_snapshot_xmax(now_sees) >= pg_snapshot_xmax(snapshot)
	        AND NOT EXISTS (SELECT FROM pg_snapshot_xip(now_sees) AS x
	            WHERE pg_visible_in_snapshot(x, snapshot)) AS nests
	FROM last
), given AS (
	(SELECT tick, CASE WHEN tick = $4 THEN $5 ELSE 9223372036854775807 END AS id
	 FROM intake.tick WHERE shard = $1 AND tick <= $4 ORDER BY tick DESC LIMIT 1)
	UNION ALL
	(SELECT tick, 0 FROM intake.tick WHERE shard = $1 AND tick > $4 ORDER BY tick LIMIT 1)
	ORDER BY tick LIMIT 1
), back AS (
	SELECT tick, id FROM given
	UNION
	SELECT r.from_tick, r.from_id
	FROM back AS b JOIN intake.tick AS v ON v.shard = $1 AND NOT v.replay AND v.tick > b.tick
	    AND (v.from_tick, v.from_id) < (b.tick, b.id)
	JOIN intake.tick AS r ON r.shard = $1 AND r.from_tick IS NOT NULL AND r.tick IN (v.tick, b.tick)
	WHERE NOT $6
), solid AS (
	SELECT tick, id FROM back ORDER BY tick, id LIMIT 1
), cut AS (
	INSERT INTO intake.tick (shard, previous_tick, tick, snapshot, from_tick, from_id, replay)
	SELECT $1, j.tick,
	    greatest(j.tick + 1, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), j.now_sees,
	    s.tick, s.id, $6
	FROM judged AS j CROSS JOIN solid AS s WHERE NOT moved AND nests
	ON CONFLICT DO NOTHING
	RETURNING tick
)
SELECT moved, nests, true AS due, true AS has_rows, (SELECT tick FROM cut) AS tick FROM judged
