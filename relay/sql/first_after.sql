-- The first position after a given one; no row: none yet.
-- $1 shard  $2, $3 the position
SELECT t.tick, f.id
FROM (SELECT t.tick FROM intake.tick AS t
      WHERE t.shard = $1 AND t.tick >= $2
        AND NOT EXISTS (SELECT FROM intake.tick AS r
            WHERE r.shard = $1 AND r.from_tick < t.tick AND r.tick > t.tick AND NOT r.replay)
      ORDER BY t.tick) AS t
CROSS JOIN LATERAL (
	SELECT min(b.id) AS id
	FROM intake.tick_ranges($1, t.tick) AS r
	CROSS JOIN LATERAL (SELECT o.id FROM intake.outbox AS o
	    WHERE o.shard = $1 AND o.xid >= r.first AND o.xid < r.past AND o.id > r.after_id
	      AND o.id > CASE WHEN t.tick = $2 THEN $3 ELSE 0 END OFFSET 0) AS b
	WHERE b.id <= (SELECT intake.tick_cap($1, t.tick))) AS f
WHERE f.id IS NOT NULL
ORDER BY t.tick LIMIT 1
