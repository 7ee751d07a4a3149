-- Every statement is a nested loop over few ticks, ranges or ids, each an index scan.  A plan of any
-- other shape reads history: so the planner is not offered one, and a plan made once, on an empty
-- table, stays right.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET plan_cache_mode = force_generic_plan;
-- A statement whose session was dropped is to end, whatever it is doing.
SET client_connection_check_interval = '1s'
