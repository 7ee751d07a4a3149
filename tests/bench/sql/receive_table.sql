-- The parameters of producer/sql/receive.sql, a row for each batch, from what a producer has kept:
-- bench.batch notifications each, for bench.clients clients.  No two of one purchase in a batch, and
-- those of one purchase in their order.
DROP TABLE IF EXISTS bench.receive;
CREATE TABLE bench.receive (
	client integer, n integer, p1 text[], p2 text[], p3 text[], p4 text[], p5 smallint[],
	p6 text[], p7 timestamptz[], p8 timestamptz[], p9 text[], p10 text[], p11 text[], p12 text[],
	p13 text[], p14 boolean[], p15 boolean[], p16 timestamptz[], p17 text[], p18 bigint[],
	p19 text[], p20 bigint[], p21 boolean[], p22 text[], p23 bytea[], PRIMARY KEY (client, n));
SELECT bench.store_plain('bench.receive');
INSERT INTO bench.receive
SELECT ((k - 1) % current_setting('bench.clients')::integer)::integer,
    ((k - 1) / current_setting('bench.clients')::integer + 1)::integer, array_agg(store),
    array_agg(notification_id), array_agg(kind), array_agg(native_type),
    array_agg(rank), array_agg(store_purchase_id), array_agg(occurred_at),
    array_agg(received_at), array_agg(traceparent), array_agg(trace_link),
    array_agg(product_id), array_agg(account_ref), array_agg(state),
    array_agg(current_only), array_agg(will_renew), array_agg(expires_at),
    array_agg(transaction_id), array_agg(amount_minor), array_agg(currency),
    array_agg(quantity), array_agg(partial), array_agg(remark),
    array_agg(body)
FROM (SELECT *, dense_rank() OVER (ORDER BY turn, chunk) AS k
      FROM (SELECT *, (row_number() OVER (PARTITION BY turn ORDER BY occurred_at, notification_id) - 1)
                / current_setting('bench.batch')::integer AS chunk
            FROM (SELECT *, row_number() OVER (
                      PARTITION BY coalesce(store_purchase_id, notification_id)
                      ORDER BY occurred_at, rank, notification_id) AS turn
                  FROM intake.notification) AS t) AS c) AS b
GROUP BY k;
COMMENT ON TABLE bench.receive IS 'Batches as producers hand them over: client and n say who calls which when'
