-- Effects are calls from now on: those that the server's log, beside its data, has a line of.

CREATE TABLE witness.call AS
SELECT m[1] AS source, m[2] AS message_id
FROM regexp_matches(pg_read_file('../pg.log'), 'LOG:  witness\.call (\S+) (\S+)', 'g') AS m;
COMMENT ON TABLE witness.call IS 'Every call of the handler, those that were rolled back included';
COMMENT ON COLUMN witness.call.source IS 'CloudEvents source';
COMMENT ON COLUMN witness.call.message_id IS 'CloudEvents id';

CREATE OR REPLACE FUNCTION witness.counted() RETURNS TABLE (source text, message_id text, effects bigint)
LANGUAGE sql STABLE AS $$
	SELECT source, message_id, count(*) FROM witness.call GROUP BY source, message_id
$$;
