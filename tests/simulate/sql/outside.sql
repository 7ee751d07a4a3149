-- The same through a connection of its own, which no rollback reaches.
CREATE EXTENSION dblink;
CREATE FUNCTION shop.on_event_outside(event json) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	PERFORM dblink_exec(format('host=%s dbname=%s user=%s', current_setting('unix_socket_directories'),
	    current_database(), current_user),
	    format('INSERT INTO shop.done VALUES (%L, %L)', event ->> 'source', event ->> 'id'));
END $$;
