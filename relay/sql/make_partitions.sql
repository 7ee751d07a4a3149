-- Those of the next days; how many were made.
SELECT intake.make_partitions() AS made
