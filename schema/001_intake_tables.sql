-- The intake schema: what the stores said (notification), what it adds up to (purchase), and what is
-- to be told to everybody else (outbox), with the chain of ticks by which the relay reads it.

CREATE SCHEMA intake;
COMMENT ON SCHEMA intake IS 'umavez: notifications received, purchases, and the outbox with its ticks';

CREATE TABLE intake.setting (
	only_row          boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	shards            smallint NOT NULL CHECK (shards BETWEEN 1 AND 1024),
	deployment        uuid NOT NULL DEFAULT gen_random_uuid(),
	system_identifier bigint NOT NULL DEFAULT (pg_control_system()).system_identifier,
	xid_floor         xid8 NOT NULL DEFAULT '0',
	xid_offset        bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE intake.setting IS 'One row: what is fixed for the life of a deployment';
COMMENT ON COLUMN intake.setting.only_row IS 'Always true: the key that allows one row';
COMMENT ON COLUMN intake.setting.shards IS 'Number of streams; changing it would move purchases between streams';
COMMENT ON COLUMN intake.setting.deployment IS 'Names this deployment';
COMMENT ON COLUMN intake.setting.system_identifier IS 'The PostgreSQL cluster whose transaction ids the rows carry';
COMMENT ON COLUMN intake.setting.xid_floor IS 'Lifted by the relay; a smaller current xid means another or a restored cluster, and is refused';
COMMENT ON COLUMN intake.setting.xid_offset IS 'Added to every xid and snapshot of this cluster';

-- What rows and ticks carry are these numbers, never the cluster's own: after a cluster was replaced
-- by one that counts from below, both go on above everything stored (umavez rebase).
-- plpgsql, which keeps its plans: an SQL function that reads a table would be planned anew at every call.
CREATE FUNCTION intake.current_xid()
RETURNS xid8 LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN (pg_current_xact_id()::text::bigint
	    + coalesce((SELECT xid_offset FROM intake.setting WHERE only_row), 0))::text::xid8;
END
$$;
COMMENT ON FUNCTION intake.current_xid IS 'This transaction, as the rows of intake call it';

-- STABLE, so that it is the snapshot of the statement that asks.
CREATE FUNCTION intake.current_snapshot()
RETURNS pg_snapshot LANGUAGE plpgsql STABLE AS $$
DECLARE
	more bigint := coalesce((SELECT xid_offset FROM intake.setting WHERE only_row), 0);
	seen pg_snapshot := pg_current_snapshot();
BEGIN
	IF more = 0 THEN
		RETURN seen;
	END IF;
	RETURN concat(pg_snapshot_xmin(seen)::text::bigint + more, ':',
	    pg_snapshot_xmax(seen)::text::bigint + more, ':',
	    (SELECT string_agg((x::text::bigint + more)::text, ',' ORDER BY x)
	     FROM pg_snapshot_xip(seen) AS x));
END
$$;
COMMENT ON FUNCTION intake.current_snapshot IS 'What this statement sees, in the numbers of current_xid()';

CREATE TABLE intake.notification (
	store             text COLLATE "C" NOT NULL CHECK (store IN
	    ('app_store', 'app_store_sandbox', 'google_play', 'stripe', 'stripe_test', 'manual')),
	notification_id   text COLLATE "C" NOT NULL,
	kind              text NOT NULL,
	native_type       text,
	rank              smallint NOT NULL,
	store_purchase_id text COLLATE "C",
	occurred_at       timestamptz NOT NULL,
	received_at       timestamptz NOT NULL,
	xid               xid8 NOT NULL DEFAULT intake.current_xid(),
	traceparent       text,
	trace_link        text,
	product_id        text,
	account_ref       text,
	state             text,
	current_only      boolean NOT NULL DEFAULT false,
	will_renew        boolean,
	expires_at        timestamptz,
	transaction_id    text,
	amount_minor      bigint,
	currency          text,
	quantity          bigint,
	partial           boolean NOT NULL DEFAULT false,
	remark            text,
	body              bytea,
	PRIMARY KEY (store, notification_id)
);
CREATE INDEX notification_purchase ON intake.notification
    (store, store_purchase_id, occurred_at, rank, notification_id) WHERE store_purchase_id IS NOT NULL;
CREATE INDEX notification_quarantined ON intake.notification (received_at) WHERE kind = 'unrecognized';
COMMENT ON TABLE intake.notification IS 'Every authentic notification, once (P1): the primary key decides, a collision is a duplicate';
COMMENT ON COLUMN intake.notification.store IS 'Who minted the ids; sandbox and test modes are stores of their own';
COMMENT ON COLUMN intake.notification.notification_id IS 'The store''s own id, or sha256:<hex of the verified bytes> where none can be read';
COMMENT ON COLUMN intake.notification.kind IS 'What it means: started, renewed, refunded ...; unrecognized: kept but not understood (P12)';
COMMENT ON COLUMN intake.notification.native_type IS 'The store''s own word for it';
COMMENT ON COLUMN intake.notification.rank IS 'Order of kinds within one instant';
COMMENT ON COLUMN intake.notification.store_purchase_id IS 'The purchase it concerns; NULL: none';
COMMENT ON COLUMN intake.notification.occurred_at IS 'The store''s time of the fact';
COMMENT ON COLUMN intake.notification.received_at IS 'When the request had been read';
COMMENT ON COLUMN intake.notification.xid IS 'The transaction that wrote it, with its purchase and outbox row (P3)';
COMMENT ON COLUMN intake.notification.traceparent IS 'W3C trace context of its way through umavez';
COMMENT ON COLUMN intake.notification.trace_link IS 'A traceparent from outside that is not trusted as the parent';
COMMENT ON COLUMN intake.notification.product_id IS 'The store''s product';
COMMENT ON COLUMN intake.notification.account_ref IS 'The buyer, as the app told the store';
COMMENT ON COLUMN intake.notification.state IS 'What the purchase now is; NULL: unchanged';
COMMENT ON COLUMN intake.notification.current_only IS 'The state counts only if transaction_id is the purchase''s current one';
COMMENT ON COLUMN intake.notification.will_renew IS 'Whether it will renew; NULL: unchanged';
COMMENT ON COLUMN intake.notification.expires_at IS 'End of the access that it grants; NULL: unchanged';
COMMENT ON COLUMN intake.notification.transaction_id IS 'The payment or refund that it is about: what a ledger entry is unique by';
COMMENT ON COLUMN intake.notification.amount_minor IS 'In the currency''s minor unit';
COMMENT ON COLUMN intake.notification.currency IS 'ISO 4217';
COMMENT ON COLUMN intake.notification.quantity IS 'Units; 1 where the store tells no number';
COMMENT ON COLUMN intake.notification.partial IS 'A refund of a part';
COMMENT ON COLUMN intake.notification.remark IS 'Why it was quarantined, or what was tolerated';
COMMENT ON COLUMN intake.notification.body IS 'The exact bytes received; NULL once retention has passed: the key stays';

CREATE TABLE intake.purchase (
	store                text COLLATE "C" NOT NULL,
	store_purchase_id    text COLLATE "C" NOT NULL,
	product_id           text,
	account_ref          text,
	state                text NOT NULL CHECK (state IN ('unknown', 'pending', 'active', 'grace', 'on_hold',
	    'paused', 'expired', 'refunded', 'revoked', 'void')),
	will_renew           boolean,
	expires_at           timestamptz,
	transaction_id       text,
	amount_minor         bigint,
	currency             text,
	occurred_at          timestamptz NOT NULL,
	rank                 smallint NOT NULL,
	last_notification_id text COLLATE "C" NOT NULL,
	version              bigint NOT NULL,
	xid                  xid8 NOT NULL,
	PRIMARY KEY (store, store_purchase_id)
) WITH (fillfactor = 80);
COMMENT ON TABLE intake.purchase IS 'One row a purchase (P2): the fold of all its notifications in the order (occurred_at, rank, notification_id), whatever order they arrived in';
COMMENT ON COLUMN intake.purchase.store IS 'Who minted store_purchase_id';
COMMENT ON COLUMN intake.purchase.store_purchase_id IS 'originalTransactionId, purchaseToken, subscription or payment intent';
COMMENT ON COLUMN intake.purchase.product_id IS 'The newest product told';
COMMENT ON COLUMN intake.purchase.account_ref IS 'The buyer; once known, never erased by a notification without one';
COMMENT ON COLUMN intake.purchase.state IS 'unknown: no notification has told it yet';
COMMENT ON COLUMN intake.purchase.will_renew IS 'NULL: not told';
COMMENT ON COLUMN intake.purchase.expires_at IS 'End of access; NULL: none or not told';
COMMENT ON COLUMN intake.purchase.transaction_id IS 'The current payment; a refund of an older one does not end the purchase';
COMMENT ON COLUMN intake.purchase.amount_minor IS 'Price of the current payment, in the minor unit';
COMMENT ON COLUMN intake.purchase.currency IS 'ISO 4217';
COMMENT ON COLUMN intake.purchase.occurred_at IS 'Of the newest notification, with rank and last_notification_id: the key of the fold';
COMMENT ON COLUMN intake.purchase.rank IS 'Of the newest notification';
COMMENT ON COLUMN intake.purchase.last_notification_id IS 'Of the newest notification';
COMMENT ON COLUMN intake.purchase.version IS 'Grows by one with every change; for people, never compared by programs';
COMMENT ON COLUMN intake.purchase.xid IS 'The transaction that touched it last: that of its newest outbox row (P3)';

CREATE TABLE intake.outbox (
	id             bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
	shard          smallint NOT NULL,
	xid            xid8 NOT NULL DEFAULT intake.current_xid(),
	source         text COLLATE "C" NOT NULL,
	message_id     text COLLATE "C" NOT NULL,
	type           text NOT NULL,
	subject        text COLLATE "C" NOT NULL,
	time           timestamptz NOT NULL,
	data           json NOT NULL,
	traceparent    text,
	first_position text,
	created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (id, created_at) -- the partitions' key must be in it; ids alone are unique by their sequence
) PARTITION BY RANGE (created_at);
CREATE INDEX outbox_shard_xid ON intake.outbox (shard, xid);
CREATE TABLE intake.outbox_default PARTITION OF intake.outbox DEFAULT;
COMMENT ON TABLE intake.outbox IS 'What is to be published: written in the transaction of what it tells, never updated. One partition a day in UTC: intake.make_partitions(), intake.drop_expired()';
COMMENT ON TABLE intake.outbox_default IS 'Rows of days that had no partition: nothing is lost, but somebody must look why';
COMMENT ON COLUMN intake.outbox.id IS 'Drawn while the purchase''s row is locked: per purchase, id order is commit order. The sequence has no cache, or sessions would draw in blocks';
COMMENT ON COLUMN intake.outbox.shard IS 'Which stream: intake.shard_of()';
COMMENT ON COLUMN intake.outbox.xid IS 'The transaction; a tick''s batch is found by it';
COMMENT ON COLUMN intake.outbox.source IS 'CloudEvents source: a store, or an application (emit)';
COMMENT ON COLUMN intake.outbox.message_id IS 'CloudEvents id; unique only together with source';
COMMENT ON COLUMN intake.outbox.type IS 'purchase.renewed ...';
COMMENT ON COLUMN intake.outbox.subject IS '<store>/<purchase>, or <store>//<notification> where there is none: what order is kept by';
COMMENT ON COLUMN intake.outbox.time IS 'When it occurred';
COMMENT ON COLUMN intake.outbox.data IS 'The notification''s normalised fields and the purchase as of this change';
COMMENT ON COLUMN intake.outbox.traceparent IS 'W3C trace context';
COMMENT ON COLUMN intake.outbox.first_position IS 'Of a row that was republished: the stream ID under which its message first appeared, <tick>-<outbox id>; NULL: an ordinary row';
COMMENT ON COLUMN intake.outbox.created_at IS 'When the row was written, by the wall clock';

CREATE TABLE intake.tick (
	shard         smallint NOT NULL,
	previous_tick bigint NOT NULL,
	tick          bigint NOT NULL CHECK (tick > previous_tick),
	snapshot      pg_snapshot NOT NULL,
	from_tick     bigint,
	from_id       bigint,
	replay        boolean NOT NULL DEFAULT false,
	at            timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (shard, previous_tick),
	CHECK ((from_tick IS NULL) = (from_id IS NULL)),
	CHECK (from_tick IS NOT NULL OR NOT replay)
) PARTITION BY RANGE (previous_tick);
CREATE INDEX tick_name ON intake.tick (shard, tick);
CREATE INDEX tick_repair ON intake.tick (shard, from_tick) WHERE from_tick IS NOT NULL;
CREATE TABLE intake.tick_default PARTITION OF intake.tick DEFAULT;
COMMENT ON TABLE intake.tick_default IS 'Ticks of times that had no partition, as outbox_default';
COMMENT ON TABLE intake.tick IS 'A chain of snapshots for each shard. The batch of a tick is what it sees and its predecessor does not. Two relays cannot both follow one tick: the primary key (P8)';
COMMENT ON COLUMN intake.tick.shard IS 'Whose chain';
COMMENT ON COLUMN intake.tick.previous_tick IS 'The tick that this one follows; 0 for the root that migrate makes';
COMMENT ON COLUMN intake.tick.tick IS 'Its name: milliseconds since 1970 when it was cut, or more; the first half of its rows'' stream IDs';
COMMENT ON COLUMN intake.tick.snapshot IS 'What was committed when it was cut';
COMMENT ON COLUMN intake.tick.from_tick IS 'Set on a repair or replay tick: its batch is every row after this position, by id';
COMMENT ON COLUMN intake.tick.from_id IS 'With from_tick';
COMMENT ON COLUMN intake.tick.replay IS 'True: rows are published again on a consumer''s request and nothing before is void. False with from_tick: a repair, which voids every position between from and itself';
COMMENT ON COLUMN intake.tick.at IS 'When it was cut, by the wall clock';

CREATE TABLE intake.stream_group (
	shard             smallint NOT NULL,
	name              text COLLATE "C" NOT NULL,
	acknowledged_tick bigint NOT NULL DEFAULT 0,
	acknowledged_id   bigint NOT NULL DEFAULT 0,
	at                timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (shard, name)
);
COMMENT ON TABLE intake.stream_group IS 'Every consumer group ever seen on a stream: nothing that one of them has not acknowledged is trimmed';
COMMENT ON COLUMN intake.stream_group.shard IS 'Which stream';
COMMENT ON COLUMN intake.stream_group.name IS 'The group';
COMMENT ON COLUMN intake.stream_group.acknowledged_tick IS 'Up to here it has surely acknowledged; written before the stream is trimmed';
COMMENT ON COLUMN intake.stream_group.acknowledged_id IS 'With acknowledged_tick';
COMMENT ON COLUMN intake.stream_group.at IS 'When that was read';

CREATE TABLE intake.shard_lease (
	shard      smallint PRIMARY KEY,
	holder     text,
	term       bigint NOT NULL DEFAULT 0,
	expires_at timestamptz
);
COMMENT ON TABLE intake.shard_lease IS 'Which relay works on which shard: avoids wasted work, holds no promise';
COMMENT ON COLUMN intake.shard_lease.shard IS 'One row each, made by migrate';
COMMENT ON COLUMN intake.shard_lease.holder IS 'The instance; NULL: free';
COMMENT ON COLUMN intake.shard_lease.term IS 'Grows with every change of holder';
COMMENT ON COLUMN intake.shard_lease.expires_at IS 'By the database''s clock';

CREATE TABLE intake.instance (
	holder     text PRIMARY KEY,
	expires_at timestamptz NOT NULL
);
COMMENT ON TABLE intake.instance IS 'Relays that are alive: how many share the shards';
COMMENT ON COLUMN intake.instance.holder IS 'The instance';
COMMENT ON COLUMN intake.instance.expires_at IS 'By the database''s clock';

CREATE TABLE intake.emitter (
	role_name text NOT NULL,
	source    text COLLATE "C" NOT NULL CHECK (source <> '' AND source NOT IN
	    ('app_store', 'app_store_sandbox', 'google_play', 'stripe', 'stripe_test', 'manual')),
	PRIMARY KEY (role_name, source)
);
COMMENT ON TABLE intake.emitter IS 'Which role may call intake.emit() under which source; never a store''s name';
COMMENT ON COLUMN intake.emitter.role_name IS 'A database role; its members may emit too';
COMMENT ON COLUMN intake.emitter.source IS 'The CloudEvents source that it may use';
