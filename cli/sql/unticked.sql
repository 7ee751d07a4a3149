-- Rows that can be seen now and that the shard's last tick does not see.
-- $1 shard  $2 count at most so many
SELECT count(*) AS rows
FROM (SELECT
      FROM (SELECT snapshot FROM intake.tick WHERE shard = $1 ORDER BY tick DESC LIMIT 1) AS t
      CROSS JOIN LATERAL intake.xid_ranges(intake.current_snapshot(), t.snapshot) AS r
      CROSS JOIN LATERAL (SELECT FROM intake.outbox AS o
          WHERE o.shard = $1 AND o.xid >= r.first AND o.xid < r.past OFFSET 0) AS o
      LIMIT $2::bigint) AS found
