-- Positions of a shard that come after a given one, up to the last tick, and when the oldest was written.
-- $1 shard  $2, $3 the position  $4 count at most so many
-- Snapshots of a chain nest, so all later batches together are what the last tick sees and the
-- position's tick does not; with the rest of that tick, and what replays have published again.
WITH last AS (
	SELECT snapshot FROM intake.tick WHERE shard = $1 ORDER BY tick DESC LIMIT 1
), start AS (
	(SELECT tick, snapshot, CASE WHEN tick = $2 THEN $3 ELSE 9223372036854775807 END::bigint AS id
	 FROM intake.tick WHERE shard = $1 AND tick <= $2 ORDER BY tick DESC LIMIT 1)
	UNION ALL
	(SELECT tick, snapshot, 9223372036854775807
	 FROM intake.tick WHERE shard = $1 AND tick > $2 ORDER BY tick LIMIT 1)
	ORDER BY tick LIMIT 1
), rest AS (
	SELECT r.first, r.past, greatest(r.after_id, s.id) AS after_id,
	    9223372036854775807 AS up_to, NULL::pg_snapshot AS seen
	FROM start AS s CROSS JOIN LATERAL intake.tick_ranges($1, s.tick) AS r
	UNION ALL
	SELECT r.first, r.past, 0, 9223372036854775807, NULL
	FROM last AS l CROSS JOIN start AS s CROSS JOIN LATERAL intake.xid_ranges(l.snapshot, s.snapshot) AS r
	UNION ALL
	SELECT r.first, r.past, r.after_id, intake.tick_cap($1, x.tick), p.snapshot
	FROM start AS s
	JOIN intake.tick AS x ON x.shard = $1 AND x.from_tick IS NOT NULL AND x.replay AND x.tick > s.tick
	JOIN intake.tick AS p ON p.shard = $1 AND p.tick = x.previous_tick
	CROSS JOIN LATERAL intake.tick_ranges($1, x.tick) AS r
)
SELECT count(*) AS rows, (extract(epoch FROM min(found.created_at)) * 1000)::bigint AS oldest_ms
FROM (SELECT o.created_at
      FROM rest AS r
      CROSS JOIN LATERAL (SELECT o.id, o.xid, o.created_at FROM intake.outbox AS o
          WHERE o.shard = $1 AND o.xid >= r.first AND o.xid < r.past OFFSET 0) AS o
      WHERE o.id > r.after_id AND o.id <= r.up_to
        AND (r.seen IS NULL OR pg_visible_in_snapshot(o.xid, r.seen))
      LIMIT $4::bigint) AS found
