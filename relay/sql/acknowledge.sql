-- Store how far groups have acknowledged, as it is now: a group may go back.
-- $1 shard  $2 names  $3 ticks  $4 ids
-- Writes stream_group; not a group that was dropped meanwhile.
UPDATE intake.stream_group AS g
SET acknowledged_tick = k.tick, acknowledged_id = k.id, at = clock_timestamp()
FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS k(name, tick, id)
WHERE g.shard = $1 AND g.name = k.name
  AND (g.acknowledged_tick, g.acknowledged_id) IS DISTINCT FROM (k.tick, k.id)
