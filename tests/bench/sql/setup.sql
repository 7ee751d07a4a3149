-- What the benchmark has beside umavez's own tables, once a run.

CREATE SCHEMA bench;

CREATE TABLE bench.sent (
	store           text COLLATE "C" NOT NULL,
	notification_id text COLLATE "C" NOT NULL,
	at_us           bigint NOT NULL
);
COMMENT ON TABLE bench.sent IS 'When each notification was due to be sent, microseconds since 1970';

CREATE TABLE bench.arrived (
	id    bigint NOT NULL,
	at_us bigint NOT NULL
);
COMMENT ON TABLE bench.arrived IS 'When each outbox row was seen in its stream';

CREATE TABLE bench.last (
	shard smallint NOT NULL,
	id    bigint NOT NULL
);
COMMENT ON TABLE bench.last IS 'The last outbox row of each shard that is to be drained';

CREATE TABLE bench.scratch (n bigint);
COMMENT ON TABLE bench.scratch IS 'What a transaction writes that only stays open';

CREATE FUNCTION bench.us(xid xid8) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT (extract(epoch FROM pg_xact_commit_timestamp((xid::text::bigint % 4294967296)::text::xid))
	    * 1000000)::bigint
$$;
COMMENT ON FUNCTION bench.us IS 'When this transaction committed, microseconds since 1970';

-- What is compressed would have to be expanded in the time that is measured.
CREATE FUNCTION bench.store_plain(of regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE (SELECT format('ALTER TABLE %s ', of)
	        || string_agg(format('ALTER %I SET STORAGE EXTERNAL', attname), ', ')
	    FROM pg_attribute WHERE attrelid = of AND attnum > 0 AND attstorage = 'x');
END
$$;
COMMENT ON FUNCTION bench.store_plain IS 'Store all columns of this table as they are';

-- A backlog: rows first .. last of n bytes each, over these shards, in the caller's transaction.
CREATE FUNCTION bench.fill_outbox(first bigint, last bigint, bytes integer, shards smallint[])
RETURNS void LANGUAGE sql AS $$
	INSERT INTO intake.outbox (shard, xid, source, message_id, type, subject, time, data, traceparent)
	SELECT shards[1 + n % cardinality(shards)], x.xid, 'bench', 'message-' || n, 'purchase.renewed',
	    'backlog//' || n % 5000, x.at, d.data,
	    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
	FROM generate_series(first, last) AS n,
	    (SELECT intake.current_xid() AS xid, now() AS at OFFSET 0) AS x,
	    (SELECT json_build_object('text', repeat('x', bytes - 12)) AS data OFFSET 0) AS d
$$;
COMMENT ON FUNCTION bench.fill_outbox IS 'Rows first to last, of `bytes` of data each, in turn into these shards. Writes outbox';

-- Notifications as the producer hands them over, five about one purchase, each with a payment.
CREATE PROCEDURE bench.receive(n bigint, bytes integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR begin_at IN 0 .. n - 1 BY 250 LOOP
		PERFORM intake.receive(array_agg(text 'stripe'), array_agg('evt_bench_' || i),
		    array_agg(text 'renewed'), array_agg(text 'invoice.paid'), array_agg(5::smallint),
		    -- No two of one purchase in a batch.
		    array_agg('sub_bench_' || i / 1250 || '_' || i % 250),
		    array_agg(timestamptz '2026-01-01' + i * interval '1 second'), array_agg(now()),
		    array_agg(text '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
		    array_agg(NULL::text), array_agg(repeat('p', bytes - 1000)), array_agg('cus_' || i % 1000),
		    array_agg(text 'active'), array_agg(false), array_agg(true),
		    array_agg(timestamptz '2027-01-01'), array_agg('in_bench_' || i), array_agg(999::bigint),
		    array_agg(text 'EUR'), array_agg(1::bigint), array_agg(false), array_agg(NULL::text),
		    array_agg(decode(repeat('20', bytes), 'hex')))
		FROM generate_series(begin_at, least(begin_at + 249, n - 1)) AS i;
		COMMIT;
	END LOOP;
END
$$;
COMMENT ON PROCEDURE bench.receive IS 'n notifications by intake.receive, 250 a transaction';
