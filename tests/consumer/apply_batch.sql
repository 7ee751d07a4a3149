-- Random batches for the default handler, and what each of its two forms leaves behind.

CREATE SCHEMA odds;

CREATE FUNCTION odds.pick(VARIADIC one_of text[]) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT one_of[1 + floor(random() * cardinality(one_of))::integer]
$$;
COMMENT ON FUNCTION odds.pick IS 'One of these';

CREATE FUNCTION odds.seldom(often float8, usual text, VARIADIC odd text[]) RETURNS text
LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < often THEN odds.pick(VARIADIC odd) ELSE usual END
$$;
COMMENT ON FUNCTION odds.seldom IS 'The first one, or so often one of the others';

-- Few values of each, so that keys are equal, payments come twice and purchases go back and forth.
CREATE FUNCTION odds.event(n bigint, odd float8, accounts text[]) RETURNS json LANGUAGE sql VOLATILE AS $$
	SELECT odds.seldom(odd / 4, json_build_object('id', 'm' || n, 'source', source, 'data', data)::text,
	    '{}', '{"source":"a","data":"text"}', '{"source":"a","data":{"store":"a","purchase":[1]}}', '7')::json
	FROM odds.pick('a', 'b') AS source,
	    json_build_object('purchase', NULL, 'kind', 'test', 'store', source) AS none,
	    json_build_object('store', odds.seldom(odd, source, 'a', 'c', NULL),
	        'kind', odds.pick('started', 'renewed', 'refunded', 'refund_reversed', 'noted'),
	        'transaction_id', odds.pick('t1', 't2', 't3', 't4', NULL), 'amount_minor', n,
	        'quantity', odds.seldom(odd, odds.pick('1', '2', NULL), 'many', '9999999999999999999'),
	        'currency', odds.pick('EUR', 'USD'),
	        'purchase', json_build_object('store', odds.seldom(odd, source, 'a', 'c', NULL),
	            'store_purchase_id', odds.seldom(odd, odds.pick('p', 'q', 'r', 'Q', 'é'), NULL),
	            -- Too long for an index, and not to be compressed.
	            'account_ref', CASE WHEN random() < odd
	                THEN (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 200) AS i)
	                ELSE odds.pick(VARIADIC accounts) END,
	            'product_id', odds.pick('gold', 'silver', NULL),
	            'state', odds.seldom(odd, odds.pick('active', 'expired'), NULL),
	            'will_renew', odds.seldom(odd, odds.pick('true', 'false', NULL), 'maybe'),
	            'expires_at', odds.seldom(odd, odds.pick('2026-01-01T00:00:00Z', NULL), 'soon'),
	            'occurred_at', odds.seldom(odd, odds.pick('2026-01-01T00:00:01Z', '2026-01-01T00:00:02Z',
	                '2026-01-01T02:00:02+02:00'), NULL, 'infinity'),
	            'rank', odds.seldom(odd, odds.pick('1', '2'), NULL, '99999'),
	            'last_notification_id', odds.seldom(odd, odds.pick('k', 'K', 'ä'), NULL),
	            'version', odds.seldom(odd, n::text, NULL, '1.5'))) AS told,
	    LATERAL (SELECT CASE WHEN random() < odd THEN none ELSE told END) AS d(data)
$$;
COMMENT ON FUNCTION odds.event IS 'An event of which so much is odd, from 0 to 1';

CREATE FUNCTION odds.left_by(in_one boolean, events json[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	behind text;
BEGIN
	IF in_one THEN
		PERFORM effects.apply_purchase_batch(events);
	ELSE
		PERFORM effects.apply_purchase(e) FROM (
		    SELECT e FROM unnest(events) WITH ORDINALITY AS g(e, n) ORDER BY n) AS o;
	END IF;
	SELECT concat((SELECT string_agg(e::text, ' ' ORDER BY store, store_purchase_id) FROM effects.entitlement AS e),
	    (SELECT string_agg(concat_ws(',', store, transaction_id, kind, quantity, amount_minor, currency,
	         source, message_id, xid), ' ' ORDER BY entry) FROM effects.ledger))
	INTO behind;
	RAISE 'undone' USING ERRCODE = 'UV000';
EXCEPTION
	WHEN SQLSTATE 'UV000' THEN
		RETURN behind;
	WHEN OTHERS THEN
		RETURN 'error';
END
$$;
COMMENT ON FUNCTION odds.left_by IS 'Entitlement and ledger after these, at once or one after the other; undone. Writes nothing';

-- Every fourth round is of ordinary events.
CREATE FUNCTION odds.run(rounds integer, OUT different integer, OUT refused integer, OUT example json[])
LANGUAGE plpgsql AS $$
DECLARE
	events json[];
	apart text;
BEGIN
	different := 0;
	refused := 0;
	FOR round IN 1 .. rounds LOOP
		DELETE FROM effects.entitlement;
		DELETE FROM effects.ledger;
		PERFORM effects.apply_purchase(odds.event(n, 0, '{old,NULL}')) FROM generate_series(1, round % 5) AS n;
		events := ARRAY(SELECT odds.event(n, CASE WHEN round % 4 = 0 THEN 0 ELSE 0.01 END,
		        CASE WHEN round % 3 = 0 THEN '{x,y,NULL}' ELSE '{x,y}' END::text[])
		    FROM generate_series(101, 102 + (random() * 20)::integer) AS n);
		apart := odds.left_by(false, events);
		refused := refused + (apart = 'error')::integer;
		IF apart IS DISTINCT FROM odds.left_by(true, events) THEN
			different := different + 1;
			example := coalesce(example, events);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION odds.run IS 'How many of so many batches end differently when they are applied at once, and one of those; and how many are refused. Writes entitlement, ledger'
