-- Before the start: where some events are kept, to be tried once more, and a log that is short.

CREATE TABLE witness.sample (event json NOT NULL);
COMMENT ON TABLE witness.sample IS 'Some events, to be tried once more';
COMMENT ON COLUMN witness.sample.event IS 'As the handler got it';
GRANT SELECT, INSERT ON witness.sample TO umavez_consumer;

ALTER ROLE w_consumer SET log_error_verbosity = terse;
ALTER ROLE w_consumer SET log_min_error_statement = panic;
