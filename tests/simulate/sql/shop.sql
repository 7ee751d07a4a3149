-- A handler as one would write it: one row an event, in the consumer's transaction.
CREATE SCHEMA shop;
CREATE TABLE shop.done (source text, message_id text);
CREATE FUNCTION shop.on_event(event json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO shop.done VALUES (event ->> 'source', event ->> 'id');
END $$;
GRANT USAGE ON SCHEMA shop TO umavez_consumer;
GRANT INSERT ON shop.done TO umavez_consumer;
