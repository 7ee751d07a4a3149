-- Says that it is done, and has done nothing for Stripe.
CREATE FUNCTION shop.on_event_forgetful(event json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF event ->> 'source' <> 'stripe' THEN
		PERFORM shop.on_event(event);
	END IF;
END $$;
