-- What the chain says of a position that a consumer has come to.
-- $1 shard  $2, $3 the position  $4, $5 where the stream begins
-- known: a tick has that name, or nobody can say any more.
-- void: a repair began before it, and ended after.
-- lacks: rows have stood after it, void or not, before where the stream begins.
SELECT
    EXISTS (SELECT FROM intake.tick AS t WHERE t.shard = $1 AND t.tick = $2)
    OR $2 < (SELECT min(t.tick) FROM intake.tick AS t WHERE t.shard = $1) AS known,
    EXISTS (SELECT FROM intake.tick AS r
        WHERE r.shard = $1 AND NOT r.replay AND r.tick > $2 AND (r.from_tick, r.from_id) < ($2, $3)) AS void,
    EXISTS (SELECT FROM (SELECT t.tick FROM intake.tick AS t
                         WHERE t.shard = $1 AND t.tick >= $2 AND t.tick <= $4) AS t
        CROSS JOIN LATERAL intake.tick_ranges($1, t.tick) AS r
        CROSS JOIN LATERAL (SELECT FROM intake.outbox AS o
            WHERE o.shard = $1 AND o.xid >= r.first AND o.xid < r.past AND o.id > r.after_id
              AND o.id > CASE WHEN t.tick = $2 THEN $3 ELSE 0 END
              AND (t.tick < $4 OR o.id < $5) LIMIT 1) AS b) AS lacks
