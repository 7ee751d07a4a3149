-- The effects schema: what consumers did, once.  It may live in a database of its own.

CREATE SCHEMA effects;
COMMENT ON SCHEMA effects IS 'umavez: inbox, cursor and the default effects';

CREATE TABLE effects.setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	shards   smallint NOT NULL CHECK (shards BETWEEN 1 AND 1024)
);
COMMENT ON TABLE effects.setting IS 'One row: what is fixed for the life of a deployment';
COMMENT ON COLUMN effects.setting.only_row IS 'Always true: the key that allows one row';
COMMENT ON COLUMN effects.setting.shards IS 'Number of streams, that of intake.setting';

CREATE TABLE effects.inbox (
	consumer     text COLLATE "C" NOT NULL,
	source       text COLLATE "C" NOT NULL,
	message_id   text COLLATE "C" NOT NULL,
	subject      text COLLATE "C" NOT NULL,
	shard        smallint NOT NULL,
	stream_id    text NOT NULL,
	xid          xid8 NOT NULL DEFAULT pg_current_xact_id(),
	traceparent  text,
	published_at timestamptz,
	delivered_at timestamptz NOT NULL,
	processed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	instance     text NOT NULL,
	discarded    text,
	PRIMARY KEY (consumer, source, message_id)
);
COMMENT ON TABLE effects.inbox IS 'Every message applied, once a consumer (P9): inserted in the transaction of its effects; a collision means done already';
COMMENT ON COLUMN effects.inbox.consumer IS 'Who applied it';
COMMENT ON COLUMN effects.inbox.source IS 'CloudEvents source; an id is unique only within it';
COMMENT ON COLUMN effects.inbox.message_id IS 'CloudEvents id';
COMMENT ON COLUMN effects.inbox.subject IS 'What it is about';
COMMENT ON COLUMN effects.inbox.shard IS 'The stream that it came by';
COMMENT ON COLUMN effects.inbox.stream_id IS 'The entry''s ID, <tick>-<outbox id>';
COMMENT ON COLUMN effects.inbox.xid IS 'The transaction that applied it, with its effects and the cursor';
COMMENT ON COLUMN effects.inbox.traceparent IS 'W3C trace context';
COMMENT ON COLUMN effects.inbox.published_at IS 'When the relay appended it';
COMMENT ON COLUMN effects.inbox.delivered_at IS 'When the consumer had read it';
COMMENT ON COLUMN effects.inbox.processed_at IS 'When it was applied';
COMMENT ON COLUMN effects.inbox.instance IS 'By which process';
COMMENT ON COLUMN effects.inbox.discarded IS 'Why an operator had it passed over, without effects; NULL: it was applied';

CREATE TABLE effects.cursor (
	consumer    text COLLATE "C" NOT NULL,
	shard       smallint NOT NULL,
	stream_id   text NOT NULL DEFAULT '0-0',
	starts_at   text,
	starts      integer NOT NULL DEFAULT 0,
	purge_floor text,
	made_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (consumer, shard)
) WITH (fillfactor = 50);
COMMENT ON TABLE effects.cursor IS 'Up to which stream ID a shard is applied; moves in the transaction of the effects, by compare-and-advance (P10, P11)';
COMMENT ON COLUMN effects.cursor.consumer IS 'Whose';
COMMENT ON COLUMN effects.cursor.shard IS 'Which stream';
COMMENT ON COLUMN effects.cursor.stream_id IS 'The last entry applied, or where a replay begins; 0-0: none; 0-1: none any more, the database had been further';
COMMENT ON COLUMN effects.cursor.starts_at IS 'The entry whose attempts starts counts';
COMMENT ON COLUMN effects.cursor.starts IS 'Attempts begun at starts_at, committed before each';
COMMENT ON COLUMN effects.cursor.purge_floor IS 'Inbox rows below this stream ID have been purged';
COMMENT ON COLUMN effects.cursor.made_at IS 'When this consumer began here: what was trimmed before, it never got';

CREATE TABLE effects.parked (
	consumer     text COLLATE "C" NOT NULL,
	source       text COLLATE "C" NOT NULL,
	message_id   text COLLATE "C" NOT NULL,
	subject      text COLLATE "C" NOT NULL,
	shard        smallint NOT NULL,
	place        bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
	stream_id    text NOT NULL,
	traceparent  text,
	published_at timestamptz,
	delivered_at timestamptz NOT NULL,
	event        text NOT NULL,
	state        text NOT NULL CHECK (state IN ('retrying', 'held', 'failed', 'retry', 'discard')),
	starts       integer NOT NULL DEFAULT 0,
	next_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
	error        text,
	context      text,
	remark       text,
	history      jsonb NOT NULL DEFAULT '[]',
	first_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
	last_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (consumer, source, message_id)
) WITH (fillfactor = 70);
-- By a hash, since a subject may be too long for an index.
CREATE INDEX parked_subject ON effects.parked (consumer, shard, hashtextextended(subject, 0), place);
CREATE INDEX parked_due ON effects.parked (consumer, shard, next_at)
	WHERE state IN ('retrying', 'retry', 'discard');
CREATE INDEX parked_failed ON effects.parked (consumer, shard) WHERE state = 'failed';
COMMENT ON TABLE effects.parked IS 'Messages that could not be applied, and those of their subjects behind them: what has a row here is not applied from the stream (P11, P12)';
COMMENT ON COLUMN effects.parked.consumer IS 'Who could not apply it';
COMMENT ON COLUMN effects.parked.source IS 'CloudEvents source';
COMMENT ON COLUMN effects.parked.message_id IS 'CloudEvents id';
COMMENT ON COLUMN effects.parked.subject IS 'What it is about: in order within one';
COMMENT ON COLUMN effects.parked.shard IS 'The stream that it came by: its owner is the only mover';
COMMENT ON COLUMN effects.parked.place IS 'Stream order: drawn under the cursor''s row lock, when the cursor passes the message';
COMMENT ON COLUMN effects.parked.stream_id IS 'The entry''s ID';
COMMENT ON COLUMN effects.parked.traceparent IS 'W3C trace context';
COMMENT ON COLUMN effects.parked.published_at IS 'When the relay appended it';
COMMENT ON COLUMN effects.parked.delivered_at IS 'When the consumer had read it';
COMMENT ON COLUMN effects.parked.event IS 'What the handler gets; text, so that what its cast to json refuses is kept too';
COMMENT ON COLUMN effects.parked.state IS 'retrying: applied when due; held: waits for the first of its subject; failed: the dead letter; retry, discard: marked by an operator';
COMMENT ON COLUMN effects.parked.starts IS 'Attempts begun, each counted in a commit of its own before it';
COMMENT ON COLUMN effects.parked.next_at IS 'When its owner turns to it next, unless held or failed';
COMMENT ON COLUMN effects.parked.error IS 'Of the last attempt; NULL: it has only been held';
COMMENT ON COLUMN effects.parked.context IS 'What the database said besides: DETAIL, HINT, and where it was raised';
COMMENT ON COLUMN effects.parked.remark IS 'The operator''s reason';
COMMENT ON COLUMN effects.parked.history IS 'The latest attempts and marks, oldest first';
COMMENT ON COLUMN effects.parked.first_at IS 'When it was parked';
COMMENT ON COLUMN effects.parked.last_at IS 'When an attempt last began or ended';

CREATE TABLE effects.entitlement (
	store             text COLLATE "C" NOT NULL,
	store_purchase_id text COLLATE "C" NOT NULL,
	account_ref       text,
	product_id        text,
	state             text NOT NULL,
	will_renew        boolean,
	expires_at        timestamptz,
	occurred_at       timestamptz NOT NULL,
	rank              smallint NOT NULL,
	notification_id   text COLLATE "C" NOT NULL,
	version           bigint NOT NULL,
	xid               xid8 NOT NULL DEFAULT pg_current_xact_id(),
	PRIMARY KEY (store, store_purchase_id)
) WITH (fillfactor = 80);
CREATE INDEX entitlement_account ON effects.entitlement (account_ref) WHERE account_ref IS NOT NULL;
COMMENT ON TABLE effects.entitlement IS 'What a purchase entitles to, as of the newest event applied';
COMMENT ON COLUMN effects.entitlement.store IS 'Who minted store_purchase_id';
COMMENT ON COLUMN effects.entitlement.store_purchase_id IS 'The purchase';
COMMENT ON COLUMN effects.entitlement.account_ref IS 'Who owns it';
COMMENT ON COLUMN effects.entitlement.product_id IS 'What was bought';
COMMENT ON COLUMN effects.entitlement.state IS 'active and grace entitle; expires_at tells until when';
COMMENT ON COLUMN effects.entitlement.will_renew IS 'NULL: not told';
COMMENT ON COLUMN effects.entitlement.expires_at IS 'End of access; NULL: none or not told';
COMMENT ON COLUMN effects.entitlement.occurred_at IS 'Key of the newest notification, with rank and notification_id: the greater key wins';
COMMENT ON COLUMN effects.entitlement.rank IS 'Part of the key';
COMMENT ON COLUMN effects.entitlement.notification_id IS 'Part of the key';
COMMENT ON COLUMN effects.entitlement.version IS 'The purchase''s version; for people';
COMMENT ON COLUMN effects.entitlement.xid IS 'The transaction that wrote it, with its inbox row';

CREATE TABLE effects.ledger (
	entry          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	store          text COLLATE "C" NOT NULL,
	transaction_id text COLLATE "C" NOT NULL,
	kind           text NOT NULL CHECK (kind IN ('charge', 'refund', 'refund_reversal')),
	quantity       bigint,
	amount_minor   bigint,
	currency       text,
	source         text NOT NULL,
	message_id     text NOT NULL,
	xid            xid8 NOT NULL DEFAULT pg_current_xact_id(),
	UNIQUE (store, transaction_id, kind)
);
COMMENT ON TABLE effects.ledger IS 'Money moved, append-only: a second notification about one payment adds nothing';
COMMENT ON COLUMN effects.ledger.entry IS 'Order of entry';
COMMENT ON COLUMN effects.ledger.store IS 'Who minted transaction_id';
COMMENT ON COLUMN effects.ledger.transaction_id IS 'The payment or refund';
COMMENT ON COLUMN effects.ledger.kind IS 'charge, refund or refund_reversal';
COMMENT ON COLUMN effects.ledger.quantity IS 'Units, as the notification has them; NULL: the event has none';
COMMENT ON COLUMN effects.ledger.amount_minor IS 'In the currency''s minor unit; NULL: the store did not tell';
COMMENT ON COLUMN effects.ledger.currency IS 'ISO 4217';
COMMENT ON COLUMN effects.ledger.source IS 'The message that told it first';
COMMENT ON COLUMN effects.ledger.message_id IS 'With source';
COMMENT ON COLUMN effects.ledger.xid IS 'The transaction that wrote it, with its inbox row';

CREATE TABLE effects.shard_lease (
	consumer   text COLLATE "C" NOT NULL,
	shard      smallint NOT NULL,
	holder     text,
	term       bigint NOT NULL DEFAULT 0,
	expires_at timestamptz,
	PRIMARY KEY (consumer, shard)
);
COMMENT ON TABLE effects.shard_lease IS 'Which process works on which shard for which consumer: avoids wasted work, holds no promise';
COMMENT ON COLUMN effects.shard_lease.consumer IS 'Whose';
COMMENT ON COLUMN effects.shard_lease.shard IS 'Which stream';
COMMENT ON COLUMN effects.shard_lease.holder IS 'The instance; NULL: free';
COMMENT ON COLUMN effects.shard_lease.term IS 'Grows with every change of holder';
COMMENT ON COLUMN effects.shard_lease.expires_at IS 'By the database''s clock';

CREATE TABLE effects.instance (
	consumer   text COLLATE "C" NOT NULL,
	holder     text NOT NULL,
	expires_at timestamptz NOT NULL,
	PRIMARY KEY (consumer, holder)
);
COMMENT ON TABLE effects.instance IS 'Consumer processes that are alive: how many share the shards';
COMMENT ON COLUMN effects.instance.consumer IS 'Whose';
COMMENT ON COLUMN effects.instance.holder IS 'The instance';
COMMENT ON COLUMN effects.instance.expires_at IS 'By the database''s clock';
