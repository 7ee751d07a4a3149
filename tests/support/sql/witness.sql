-- What a test knows by itself, beside umavez's own tables: what producers answered, what the streams
-- hold, and every effect that was ever committed.  No keys here: a doubled effect must show.

CREATE SCHEMA witness;

CREATE TABLE witness.answered (
	store           text COLLATE "C" NOT NULL,
	notification_id text COLLATE "C" NOT NULL,
	sends           integer NOT NULL,
	accepted        integer NOT NULL,
	duplicates      integer NOT NULL
);
COMMENT ON TABLE witness.answered IS 'Notifications that were answered with 200, and how often with which outcome';

CREATE TABLE witness.entry (
	shard       smallint NOT NULL,
	place       bigint NOT NULL,
	tick        bigint NOT NULL,
	id          bigint NOT NULL,
	source      text COLLATE "C",
	message_id  text COLLATE "C",
	type        text,
	subject     text COLLATE "C",
	time        text,
	traceparent text,
	data        text
);
COMMENT ON TABLE witness.entry IS 'The streams, entry by entry in their order, as they were when last looked at';

CREATE TABLE witness.effect (
	n          bigint GENERATED ALWAYS AS IDENTITY,
	source     text COLLATE "C" NOT NULL,
	message_id text COLLATE "C" NOT NULL,
	subject    text COLLATE "C" NOT NULL,
	xid        xid8 NOT NULL DEFAULT pg_current_xact_id()
);
COMMENT ON TABLE witness.effect IS 'One row for every time that the handler ran and committed';

CREATE FUNCTION witness.counted() RETURNS TABLE (source text, message_id text, effects bigint)
LANGUAGE sql STABLE AS $$
	SELECT source, message_id, count(*) FROM witness.effect GROUP BY source, message_id
$$;
COMMENT ON FUNCTION witness.counted IS 'How often each message took effect; who knows better than witness.effect replaces it';

CREATE FUNCTION witness.apply(event json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO witness.effect (source, message_id, subject)
	VALUES (event ->> 'source', event ->> 'id', event ->> 'subject');
	PERFORM effects.apply_purchase(event);
END
$$;
COMMENT ON FUNCTION witness.apply IS 'The default handler, and a row for each time';

CREATE FUNCTION witness.apply_batch(events json[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO witness.effect (source, message_id, subject)
	SELECT e ->> 'source', e ->> 'id', e ->> 'subject'
	FROM unnest(events) WITH ORDINALITY AS g(e, n) ORDER BY n;
	PERFORM effects.apply_purchase_batch(events);
END
$$;
COMMENT ON FUNCTION witness.apply_batch IS 'The same for many at once';

CREATE FUNCTION witness.apply_flaky(event json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF random() < 0.2 THEN
		RAISE 'not this time';
	END IF;
	PERFORM witness.apply(event);
END
$$;
COMMENT ON FUNCTION witness.apply_flaky IS 'The same, which fails one time in five';

GRANT USAGE ON SCHEMA witness TO umavez_consumer;
GRANT INSERT ON witness.effect TO umavez_consumer;
