-- Once, in the schema's first transaction, with that schema as the search path.
CREATE TABLE migration (
	version    integer PRIMARY KEY,
	name       text NOT NULL,
	checksum   text NOT NULL,
	applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE migration IS 'The files of schema/ that were applied here, by umavez migrate';
COMMENT ON COLUMN migration.version IS 'The file''s number';
COMMENT ON COLUMN migration.name IS 'The file';
COMMENT ON COLUMN migration.checksum IS 'SHA-256 of the file, hexadecimal: an applied file never changes';
COMMENT ON COLUMN migration.applied_at IS 'When';
