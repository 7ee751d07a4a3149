-- Chains of ticks that begin now: behind every row that is there.
DELETE FROM intake.tick;
INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)
SELECT shard, 0, 1, intake.current_snapshot() FROM intake.shard_lease
