-- The cluster whose transaction ids the outbox carries, and the one that we are connected to.
SELECT s.system_identifier AS expected, c.system_identifier AS actual, s.shards
FROM intake.setting AS s CROSS JOIN pg_control_system() AS c
