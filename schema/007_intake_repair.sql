-- What the operator's tool needs to prove that nothing is lost, and to repair what is.

CREATE TABLE intake.gap (
	shard      smallint NOT NULL,
	after_tick bigint NOT NULL,
	after_id   bigint NOT NULL,
	tick       bigint NOT NULL,
	at         timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (shard, after_tick, after_id)
);
COMMENT ON TABLE intake.gap IS 'Where a stream went on behind rows that are no longer retained: written by the relay, kept until somebody has looked at it';
COMMENT ON COLUMN intake.gap.shard IS 'Which stream';
COMMENT ON COLUMN intake.gap.after_tick IS 'The newest entry that the stream had';
COMMENT ON COLUMN intake.gap.after_id IS 'With after_tick';
COMMENT ON COLUMN intake.gap.tick IS 'Rows up to this tick''s batch were no longer retained: the stream went on after it';
COMMENT ON COLUMN intake.gap.at IS 'When the relay met it, by the wall clock';

-- A row that the position's tick does not see is published later, or is not ticked yet.  What it sees
-- is published again only by a repair or a replay.
CREATE FUNCTION intake.stands_after(row_shard smallint, row_id bigint, row_xid xid8, at_tick bigint, at_id bigint)
RETURNS boolean LANGUAGE sql STABLE AS $$
	WITH place AS (
		SELECT tick, snapshot, CASE WHEN tick = at_tick THEN at_id ELSE 9223372036854775807 END AS id
		FROM intake.tick WHERE shard = row_shard AND tick <= at_tick ORDER BY tick DESC LIMIT 1
	), oldest AS (
		SELECT previous_tick, snapshot FROM intake.tick WHERE shard = row_shard ORDER BY tick LIMIT 1
	)
	SELECT CASE WHEN EXISTS (SELECT FROM place)
	    THEN EXISTS (SELECT FROM place AS p WHERE NOT pg_visible_in_snapshot(row_xid, p.snapshot)
	        OR (row_id > p.id AND intake.in_tick(row_shard, p.tick, row_id, row_xid)))
	    ELSE EXISTS (SELECT FROM oldest AS o
	        WHERE o.previous_tick = 0 OR NOT pg_visible_in_snapshot(row_xid, o.snapshot)) END
	  OR EXISTS (SELECT FROM intake.tick AS t
	      WHERE t.shard = row_shard AND t.from_tick IS NOT NULL AND t.tick > at_tick
	        AND intake.in_tick(row_shard, t.tick, row_id, row_xid))
$$;
COMMENT ON FUNCTION intake.stands_after IS 'Whether an outbox row is, or will be, published behind a position (tick, id) of its shard';
