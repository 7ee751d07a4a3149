-- Partitions of outbox and tick, made ahead, and what they cannot declare: that ticks are a chain.
--
-- Nothing here may keep an insert waiting for longer than a lock timeout of 100 ms, and whoever does
-- not get a lock tries again later: each call is one small piece of work, and safe to repeat.

-- A partition is named by its first day in UTC.  Ticks go by seven days: every statement of the
-- relay looks into each partition of tick several times, and the rows are small.
CREATE FUNCTION intake.partition_days(parent text)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE parent WHEN 'outbox' THEN 1 ELSE 7 END
$$;
COMMENT ON FUNCTION intake.partition_days IS 'How many days a partition of outbox or tick covers';

CREATE FUNCTION intake.partition_name(parent text, first_day date)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT format('%s_%s%s%s', parent, lpad(extract(year FROM first_day)::text, 4, '0'),
	    lpad(extract(month FROM first_day)::text, 2, '0'), lpad(extract(day FROM first_day)::text, 2, '0'))
$$;
COMMENT ON FUNCTION intake.partition_name IS 'outbox_20261231: without to_char and its locale';

-- The partition that a day falls into begins here.
CREATE FUNCTION intake.partition_start(parent text, day date)
RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT date '1970-01-01' + (day - date '1970-01-01') / intake.partition_days(parent)
	    * intake.partition_days(parent)
$$;
COMMENT ON FUNCTION intake.partition_start IS 'The first day of the partition that holds a day';

CREATE VIEW intake.partition AS
SELECT c.oid AS relation, p.relname::text AS parent, make_date(substr(right(c.relname, 8), 1, 4)::integer,
        substr(right(c.relname, 8), 5, 2)::integer, right(c.relname, 2)::integer) AS first_day,
    make_date(substr(right(c.relname, 8), 1, 4)::integer, substr(right(c.relname, 8), 5, 2)::integer,
        right(c.relname, 2)::integer) + intake.partition_days(p.relname) AS end_day
FROM pg_inherits AS i
JOIN pg_class AS c ON c.oid = i.inhrelid
JOIN pg_class AS p ON p.oid = i.inhparent
WHERE i.inhparent IN ('intake.outbox'::regclass, 'intake.tick'::regclass)
  AND c.relname ~ '^(outbox|tick)_[0-9]{8}$';
COMMENT ON VIEW intake.partition IS 'The partitions of outbox and tick but the DEFAULT ones, by their names';
COMMENT ON COLUMN intake.partition.relation IS 'The partition';
COMMENT ON COLUMN intake.partition.parent IS 'outbox or tick';
COMMENT ON COLUMN intake.partition.first_day IS 'In UTC';
COMMENT ON COLUMN intake.partition.end_day IS 'The day after its last';

CREATE FUNCTION intake.day_ms(day date)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT (day - date '1970-01-01') * 86400000::bigint
$$;
COMMENT ON FUNCTION intake.day_ms IS 'Midnight in UTC as milliseconds since 1970: what ticks are named by';

-- Only a table that is attached locks little: the parent's writers go on, whereas CREATE ... PARTITION
-- OF would stop them.  What is locked is DEFAULT, which is scanned: nearly always an empty table.
CREATE FUNCTION intake.make_partition(parent text, first_day date)
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET DateStyle = ISO AS $$
DECLARE
	name text := intake.partition_name(parent, first_day);
	end_day date := first_day + intake.partition_days(parent);
BEGIN
	EXECUTE format('CREATE TABLE intake.%I (LIKE intake.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
	    name, parent);
	IF parent = 'outbox' THEN
		EXECUTE format('ALTER TABLE intake.outbox ATTACH PARTITION intake.%I FOR VALUES FROM (%L) TO (%L)',
		    name, first_day || ' 00:00:00+00', end_day || ' 00:00:00+00');
	ELSE
		-- The first one also holds the roots, whose previous tick is 0; unless they are in DEFAULT.
		EXECUTE format('ALTER TABLE intake.tick ATTACH PARTITION intake.%I FOR VALUES FROM (%s) TO (%s)',
		    name, CASE WHEN EXISTS (SELECT FROM intake.partition AS p WHERE p.parent = 'tick')
		        OR EXISTS (SELECT FROM intake.tick_default AS d WHERE d.previous_tick < intake.day_ms(first_day))
		    THEN intake.day_ms(first_day)::text ELSE 'MINVALUE' END, intake.day_ms(end_day));
	END IF;
END
$$;
COMMENT ON FUNCTION intake.make_partition IS 'Make the partition of outbox or tick that begins on a day, and attach it';
REVOKE ALL ON FUNCTION intake.make_partition FROM PUBLIC;

CREATE FUNCTION intake.in_default(parent text, first_day date)
RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT CASE parent
	    WHEN 'outbox' THEN EXISTS (SELECT FROM intake.outbox_default
	        WHERE created_at >= first_day::timestamp AT TIME ZONE 'UTC'
	          AND created_at < (first_day + intake.partition_days(parent))::timestamp AT TIME ZONE 'UTC')
	    ELSE EXISTS (SELECT FROM intake.tick_default
	        WHERE previous_tick >= intake.day_ms(first_day)
	          AND previous_tick < intake.day_ms(first_day + intake.partition_days(parent))) END
$$;
COMMENT ON FUNCTION intake.in_default IS 'Whether DEFAULT holds rows of the partition that would begin on this day: then it cannot be made. Reads DEFAULT, which make_partitions() has found to be small';

-- A DEFAULT that has grown would be scanned under a lock that its writers wait for: then nothing is
-- attached, which is told, and `umavez migrate` attaches it at a time that a person has chosen.
CREATE FUNCTION intake.make_partitions(days integer DEFAULT 14, default_bytes bigint DEFAULT 8388608)
RETURNS integer LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '100ms' AS $$
DECLARE
	today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
	made integer := 0;
	wanted record;
BEGIN
	IF NOT pg_try_advisory_xact_lock(1970102646, 7364972) THEN
		RETURN 0; -- another one is at it
	END IF;
	FOR wanted IN
		SELECT DISTINCT t.parent, intake.partition_start(t.parent, today + n) AS first_day
		FROM (VALUES ('outbox'), ('tick')) AS t(parent)
		CROSS JOIN generate_series(0, least(days, 60)) AS n ORDER BY 2, 1
	LOOP
		CONTINUE WHEN to_regclass('intake.' || intake.partition_name(wanted.parent, wanted.first_day))
		    IS NOT NULL
		    OR pg_relation_size(('intake.' || wanted.parent || '_default')::regclass) > default_bytes
		    OR intake.in_default(wanted.parent, wanted.first_day);
		BEGIN
			PERFORM intake.make_partition(wanted.parent, wanted.first_day);
			made := made + 1;
		EXCEPTION WHEN lock_not_available THEN
			EXIT; -- somebody reads DEFAULT for long: later
		END;
	END LOOP;
	RETURN made;
END
$$;
COMMENT ON FUNCTION intake.make_partitions IS 'Make the partitions that are missing from today to so many days ahead; how many were made. Idempotent; one caller works, the others do nothing';
REVOKE ALL ON FUNCTION intake.make_partitions FROM PUBLIC;

SELECT intake.make_partitions();

-- A chain: with the primary key, and since a tick is greater than its predecessor, no two ticks of a
-- shard have one name.  (UNIQUE (shard, tick) cannot be declared over partitions of previous_tick.)
-- Ticks never change, and the last ones are never dropped: what is found here stays true.
CREATE FUNCTION intake.tick_follows()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF EXISTS (SELECT FROM intake.tick AS p WHERE p.shard = NEW.shard AND p.tick = NEW.previous_tick
	        AND p.previous_tick < NEW.previous_tick)
	    OR NEW.previous_tick = 0 AND NOT EXISTS (SELECT FROM intake.tick AS t WHERE t.shard = NEW.shard) THEN
		RETURN NEW;
	END IF;
	RAISE EXCEPTION 'tick % of shard % follows no tick', NEW.tick, NEW.shard
	    USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'tick_follows';
END
$$;
COMMENT ON FUNCTION intake.tick_follows IS 'A tick must follow one that is there, or be the root';
REVOKE ALL ON FUNCTION intake.tick_follows FROM PUBLIC;
CREATE TRIGGER tick_follows BEFORE INSERT ON intake.tick
    FOR EACH ROW EXECUTE FUNCTION intake.tick_follows();
