-- What every contestant carries: an event of the form that umavez publishes and its default handler
-- takes, in so many bytes, about one of ten thousand purchases; each has a transaction id of its own.

CREATE FUNCTION peer_purchase(n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT n % 10000';

CREATE FUNCTION peer_event(n bigint, bytes integer) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	time text := to_char(timestamp '2026-01-01' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
	event text := format('{"id":"%s","source":"stripe","type":"purchase.renewed",'
	    '"subject":"stripe/sub_%s","time":"%s","data":{"store":"stripe","kind":"renewed",'
	    '"transaction_id":"ch_%s","quantity":1,"amount_minor":999,"currency":"EUR","purchase":'
	    '{"store":"stripe","store_purchase_id":"sub_%s","account_ref":"account_%s",'
	    '"product_id":"monthly","state":"active","will_renew":true,"expires_at":"%s",'
	    '"occurred_at":"%s","rank":20,"last_notification_id":"%s","version":%s},"pad":"%s"}}',
	    n, peer_purchase(n), time, n, peer_purchase(n), peer_purchase(n), time, time, n,
	    n / 10000 + 1, '%s');
BEGIN
	RETURN format(event, repeat('x', greatest(0, bytes - length(event) + 2)));
END
$$;
