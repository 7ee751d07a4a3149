// pg-transactional-outbox: its outbox, read by its polling or by its replication listener.
'use strict';

const peer = require('./peer.js');
const { DatabaseSetup, createReplicationSemaphoreConcurrencyController, getDisabledLogger,
	initializePollingMessageListener, initializeReplicationMessageListener } = peer.need('pg-transactional-outbox');

const BATCH = 100;
// By replication no more messages at once than connections: each waits for one on the time that it has
// for being handled, and is given up when that has passed.  So its order is lost; one segment after the
// other would keep it, but loses a backlog.
const CONNECTIONS = 20;
const OBJECT_IN_USE = '55006';

const listener = process.argv.splice(2, 1)[0];
const box = { outboxOrInbox: 'outbox', schema: 'public', table: 'outbox',
	nextMessagesName: 'next_outbox_messages', publication: 'peer' };
// The name is the server's: with the database's in it, it is ours alone.
const slot = async () => (await peer.sql("SELECT 'peer_' || md5(current_database()) AS slot"))[0].slot;

// By polling, order is kept within a segment, as ours is within a purchase.
const insert = (from) => `INSERT INTO outbox (id, aggregate_type, aggregate_id, message_type, segment, payload)
	SELECT gen_random_uuid(), 'purchase', 'sub_' || peer_purchase(n), 'purchase.renewed',
	    'sub_' || peer_purchase(n), peer_event(n, $2)::jsonb FROM ${from} AS n`;

const warn = (err, text) => console.error(text || err.message);
const logger = { ...getDisabledLogger(), error: warn, fatal: warn };
const settings = { dbSchema: 'public', dbTable: 'outbox', enableMaxAttemptsProtection: false,
	enablePoisonousMessageProtection: false };
const databases = { outboxOrInbox: 'outbox', dbListenerConfig: { connectionString: peer.connectionString, max: CONNECTIONS },
	dbHandlerConfig: { connectionString: peer.connectionString, max: CONNECTIONS } };
const handler = { handle: async (message) => { await peer.publish(message.payload); } };

const startPolling = () =>
	initializePollingMessageListener({ ...databases, settings: { ...settings, nextMessagesBatchSize: BATCH,
		nextMessagesFunctionName: box.nextMessagesName, nextMessagesPollingIntervalInMs: 10 } },
	handler, logger, { batchSizeStrategy: async () => BATCH });

const startReplication = async () =>
	initializeReplicationMessageListener({ ...databases, settings: { ...settings, dbPublication: box.publication,
		dbReplicationSlot: await slot() } },
	handler, logger, { concurrencyStrategy: createReplicationSemaphoreConcurrencyController(CONNECTIONS) });

async function setup() {
	const [{ role }] = await peer.sql('SELECT current_user AS role');
	const config = { ...box, listenerRole: role, replicationSlot: await slot() };

	await peer.sql(DatabaseSetup.dropAndCreateTable(config));
	if (listener === 'polling') {
		await peer.sql(DatabaseSetup.createPollingFunction(config));
		await peer.sql(DatabaseSetup.setupPollingIndexes(config));
	} else {
		await peer.sql(DatabaseSetup.setupReplicationCore(config));
		await peer.sql(DatabaseSetup.setupReplicationSlot(config));
	}
	if (peer.mode === 'drain') {
		await peer.sql(insert('generate_series(0, $1::bigint - 1)'), [peer.messages, peer.bytes]);
		await peer.sql('VACUUM ANALYZE outbox');
	}
}

async function lacks() {
	const [{ level }] = await peer.sql("SELECT current_setting('wal_level') AS level");

	return listener === 'replication' && level !== 'logical' && 'the server has not wal_level = logical';
}

// No database with a slot can be dropped, and no slot that is read, as it still may be for a moment.
async function dropSlot(name) {
	for (let attempt = 0; attempt < 100; attempt++, await peer.sleep(20)) {
		try {
			return await peer.sql('SELECT pg_drop_replication_slot($1)', [name]);
		} catch (err) {
			if (err.code !== OBJECT_IN_USE) throw err;
		}
		await peer.sql('SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1', [name]);
	}
	throw new Error(`the slot ${name} is still read`);
}

peer.main(listener === 'polling' ? 'pg-transactional-outbox' : 'pg-transactional-outbox-replication', {
	modes: ['drain', 'latency'],
	lacks,
	setup,
	start: async () => (await (listener === 'polling' ? startPolling() : startReplication()))[0],
	marked: () => peer.count('SELECT count(*) AS n FROM outbox WHERE processed_at IS NOT NULL'),
	cleanup: async () => {
		if (listener === 'replication') await dropSlot(await slot());
	},
	insert: insert('generate_series($1::bigint, $1)'),
});
