-- What tests of the consumer need beside umavez's own tables.
CREATE SCHEMA stage;
CREATE TABLE stage.log (
	place      bigint GENERATED ALWAYS AS IDENTITY,
	shard      int NOT NULL,
	n          int NOT NULL,
	message_id text NOT NULL,
	stream_id  text NOT NULL,
	xid        xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE TABLE stage.poison (n int PRIMARY KEY);
CREATE TABLE stage.parent (n int PRIMARY KEY);
CREATE TABLE stage.child (n int REFERENCES stage.parent DEFERRABLE INITIALLY DEFERRED);

CREATE FUNCTION stage.apply(event json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	number int := (event -> 'data' ->> 'n')::int;
BEGIN
	IF EXISTS (SELECT FROM stage.poison AS p WHERE p.n = number) THEN
		RAISE EXCEPTION 'message % is poison', number;
	END IF;
	INSERT INTO stage.log (shard, n, message_id, stream_id)
	VALUES ((event -> 'data' ->> 'shard')::int, number, event ->> 'id', event ->> 'streamid');
END
$$;

-- Fails at COMMIT for a poisonous message: its row refers to none.
CREATE FUNCTION stage.apply_deferred(event json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	number int := (event -> 'data' ->> 'n')::int;
BEGIN
	INSERT INTO stage.child SELECT p.n FROM stage.poison AS p WHERE p.n = number;
	INSERT INTO stage.log (shard, n, message_id, stream_id)
	VALUES (0, number, event ->> 'id', event ->> 'streamid');
END
$$;

CREATE SCHEMA "Stage Two";
CREATE FUNCTION "Stage Two"."Apply"(event json) RETURNS void LANGUAGE sql AS $$
	SELECT stage.apply(event)
$$;
-- A namesake, which makes the bare name ambiguous.
CREATE FUNCTION "Stage Two"."Apply"(event text) RETURNS void LANGUAGE sql AS $$
	SELECT 1 / 0
$$;

GRANT USAGE ON SCHEMA stage, "Stage Two" TO umavez_consumer;
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA stage TO umavez_consumer;
