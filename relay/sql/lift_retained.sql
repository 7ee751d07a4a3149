-- The floor of every shard that has one.  Writes retained.
SELECT shard, tick FROM intake.lift_retained()
