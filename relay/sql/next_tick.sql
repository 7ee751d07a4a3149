-- The tick after a given one, leaving out those that a repair has voided; no row: none yet.
-- $1 shard  $2 tick
SELECT t.tick FROM intake.tick AS t
WHERE t.shard = $1 AND t.tick > $2
  AND NOT EXISTS (SELECT FROM intake.tick AS r
      WHERE r.shard = $1 AND r.from_tick < t.tick AND r.tick > t.tick AND NOT r.replay)
ORDER BY t.tick LIMIT 1
