-- Rows that can be seen now and that the shard's last tick does not see, and when the oldest was written.
-- $1 shard  $2 count at most so many
SELECT count(*) AS rows, (extract(epoch FROM min(found.created_at)) * 1000)::bigint AS oldest_ms
FROM (SELECT o.created_at
      FROM (SELECT snapshot FROM intake.tick WHERE shard = $1 ORDER BY tick DESC LIMIT 1) AS t
      CROSS JOIN LATERAL intake.xid_ranges(intake.current_snapshot(), t.snapshot) AS r
      CROSS JOIN LATERAL (SELECT o.created_at FROM intake.outbox AS o
          WHERE o.shard = $1 AND o.xid >= r.first AND o.xid < r.past OFFSET 0) AS o
      LIMIT $2::bigint) AS found
