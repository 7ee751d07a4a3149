-- The parameters of consumer/sql/apply.sql, a row for each batch.
DROP TABLE IF EXISTS bench.apply;
CREATE TABLE bench.apply (
	client integer, n integer, p1 text, p2 text, p3 smallint, p4 text, p5 text, p6 regprocedure,
	p7 text[], p8 text[], p9 text[], p10 text[], p11 text[], p12 text[], p13 timestamptz[],
	p14 timestamptz, p15 text[], PRIMARY KEY (client, n));
SELECT bench.store_plain('bench.apply');
COMMENT ON TABLE bench.apply IS 'Batches as consumers hand them over: client and n say who calls which when'
