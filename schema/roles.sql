-- Least privilege: one group role a service, and umavez_emitter for other applications that publish by
-- intake.emit(), granted to the login roles that they use.
-- Applied by `umavez migrate --roles`, as often as you like; it grants what this database has of the
-- two schemas, and takes nothing from roles that it does not know.

DO $$
DECLARE
	missing text[] := ARRAY(
	    SELECT name FROM unnest(ARRAY['umavez_producer', 'umavez_relay', 'umavez_consumer',
	        'umavez_operator', 'umavez_emitter']) AS name
	    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name));
	r text;
BEGIN
	FOREACH r IN ARRAY missing LOOP
		EXECUTE format('CREATE ROLE %I NOLOGIN', r);
	END LOOP;
EXCEPTION
	WHEN duplicate_object OR unique_violation THEN
		NULL; -- another migrate made them at the same moment
	WHEN insufficient_privilege THEN
		RAISE insufficient_privilege USING MESSAGE = format(
		    'the role %1$I may not create roles: as a superuser do ALTER ROLE %1$I CREATEROLE, or CREATE ROLE '
		    'for each of %2$s; then run this again', current_user, array_to_string(missing, ', '));
END
$$;

DO $$
BEGIN
	IF to_regnamespace('intake') IS NOT NULL THEN
		REVOKE ALL ON ALL TABLES IN SCHEMA intake FROM
		    umavez_producer, umavez_relay, umavez_consumer, umavez_operator, umavez_emitter;
		REVOKE ALL ON SCHEMA intake FROM umavez_consumer;
		GRANT USAGE ON SCHEMA intake TO umavez_producer, umavez_relay, umavez_operator, umavez_emitter;
		-- receive and emit write the outbox with their owner's rights: nobody else inserts there.
		GRANT EXECUTE ON FUNCTION intake.receive, intake.forget_bodies TO umavez_producer;
		GRANT EXECUTE ON FUNCTION intake.emit TO umavez_emitter;
		GRANT SELECT ON intake.migration, intake.setting TO umavez_producer, umavez_relay;
		GRANT EXECUTE ON FUNCTION intake.make_partitions TO umavez_producer, umavez_relay;
		-- Nobody deletes from outbox and tick but these, which look for themselves what may go.
		GRANT EXECUTE ON FUNCTION intake.drop_expired, intake.lift_retained, intake.sweep_default,
		    intake.retention_health TO umavez_relay;
		GRANT SELECT ON intake.outbox, intake.tick, intake.shard_lease, intake.stream_group,
		    intake.instance, intake.retained TO umavez_relay;
		GRANT INSERT ON intake.tick TO umavez_relay;
		GRANT INSERT, UPDATE ON intake.stream_group TO umavez_relay;
		GRANT UPDATE ON intake.shard_lease TO umavez_relay;
		GRANT INSERT, UPDATE, DELETE ON intake.instance TO umavez_relay;
		GRANT UPDATE (xid_floor) ON intake.setting TO umavez_relay;
		GRANT INSERT ON intake.gap TO umavez_relay;
		GRANT SELECT ON ALL TABLES IN SCHEMA intake TO umavez_operator;
		-- What a store sent, word for word, is for nobody: all of the row but its body.
		REVOKE SELECT ON intake.notification FROM umavez_operator;
		EXECUTE (SELECT format('GRANT SELECT (%s) ON intake.notification TO umavez_operator',
		        string_agg(quote_ident(attname), ', ' ORDER BY attnum))
		    FROM pg_attribute WHERE attrelid = 'intake.notification'::regclass AND attnum > 0
		      AND NOT attisdropped AND attname <> 'body');
		GRANT DELETE ON intake.gap, intake.stream_group TO umavez_operator;
		GRANT EXECUTE ON FUNCTION intake.republish TO umavez_operator;
	END IF;
	IF to_regnamespace('effects') IS NOT NULL THEN
		REVOKE ALL ON ALL TABLES IN SCHEMA effects FROM
		    umavez_producer, umavez_relay, umavez_consumer, umavez_operator;
		REVOKE ALL ON SCHEMA effects FROM umavez_producer, umavez_relay;
		GRANT USAGE ON SCHEMA effects TO umavez_consumer, umavez_operator;
		GRANT SELECT ON effects.migration, effects.setting TO umavez_consumer;
		GRANT SELECT, INSERT, UPDATE ON effects.cursor, effects.shard_lease, effects.entitlement
		    TO umavez_consumer;
		GRANT SELECT, INSERT ON effects.inbox, effects.ledger TO umavez_consumer;
		GRANT UPDATE (stream_id) ON effects.inbox TO umavez_consumer;
		GRANT SELECT, INSERT, UPDATE, DELETE ON effects.parked, effects.instance TO umavez_consumer;
		GRANT EXECUTE ON FUNCTION effects.mark, effects.forget_consumer TO umavez_operator;
		GRANT EXECUTE ON FUNCTION effects.purge_inbox TO umavez_consumer;
		GRANT SELECT ON ALL TABLES IN SCHEMA effects TO umavez_operator;
	END IF;
END
$$;
