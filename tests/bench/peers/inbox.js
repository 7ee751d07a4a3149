// pg-transactional-outbox: its inbox, filled from the streams, handled with the default handler's effects.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const peer = require('./peer.js');
const { DatabaseSetup, IsolationLevel, executeTransaction, getDisabledLogger, initializeMessageStorage,
	initializePollingMessageListener } = peer.need('pg-transactional-outbox');
const { Pool } = peer.need('pg');

const BATCH = 100;
const FILL_ROWS = 1000;
// Each poll sorts all that waits in the inbox: what is not handled stays in the stream.
const AHEAD_MAX = 1000;

const warn = (err, text) => console.error(text || err.message);
const logger = { ...getDisabledLogger(), error: warn, fatal: warn };
const box = { outboxOrInbox: 'inbox', schema: 'public', table: 'inbox', nextMessagesName: 'next_inbox_messages' };
const databases = { outboxOrInbox: 'inbox', dbListenerConfig: { connectionString: peer.connectionString, max: 20 },
	dbHandlerConfig: { connectionString: peer.connectionString, max: 20 } };
const settings = { dbSchema: 'public', dbTable: 'inbox', enableMaxAttemptsProtection: true,
	enablePoisonousMessageProtection: true, nextMessagesBatchSize: BATCH,
	nextMessagesFunctionName: box.nextMessagesName, nextMessagesPollingIntervalInMs: 10 };
const config = { ...databases, settings };

const uuid = (id) => `00000000-0000-4000-8000-${Number(id).toString(16).padStart(12, '0')}`;
let stored = 0, handled = 0, stopped = false;

async function fill(from) {
	const rows = await peer.sql(`SELECT peer_event(n, $3) AS event
		FROM generate_series($1::bigint, least($1::bigint + $4::bigint, $2::bigint) - 1) AS n`,
	[from, peer.messages, peer.bytes, FILL_ROWS]);

	await Promise.all(rows.map(({ event }) => peer.publish(JSON.parse(event))));
}

async function setup() {
	const [{ role }] = await peer.sql('SELECT current_user AS role');
	const schema = path.join(__dirname, '../../../schema');

	for (const file of fs.readdirSync(schema).filter((name) => /^\d+_effects_/.test(name)).sort())
		await peer.sql(fs.readFileSync(path.join(schema, file), 'utf8'));
	await peer.sql(DatabaseSetup.dropAndCreateTable({ ...box, listenerRole: role }));
	await peer.sql(DatabaseSetup.createPollingFunction(box));
	await peer.sql(DatabaseSetup.setupPollingIndexes(box));
	for (let n = 0; n < peer.messages; n += FILL_ROWS) await fill(n);
	for (let shard = 0; shard < peer.shards; shard++)
		await peer.redis.xgroup('CREATE', peer.stream(shard), 'consumer', '0', 'MKSTREAM');
}

// One shard: store what the stream has, each in a transaction, then acknowledge it.
async function receive(key, store, pool) {
	const redis = peer.newRedis();

	while (!stopped) {
		const reply = stored - handled < AHEAD_MAX &&
			(await redis.xreadgroup('GROUP', 'consumer', 'worker', 'COUNT', 256, 'STREAMS', key, '>'));

		if (!reply) {
			await peer.sleep(1);
			continue;
		}
		const entries = reply[0][1];
		stored += entries.length;
		await Promise.all(entries.map(async ([, fields]) => {
			const event = JSON.parse(fields[3]);
			const message = { id: uuid(event.id), aggregateType: 'purchase', aggregateId: event.subject,
				messageType: event.type, segment: event.subject, payload: event };

			await executeTransaction(await pool.connect(), (client) => store(message, client),
				IsolationLevel.ReadCommitted);
		}));
		await redis.xack(key, 'consumer', ...entries.map(([id]) => id));
	}
	redis.disconnect();
}

async function start() {
	const pool = new Pool({ connectionString: peer.connectionString, max: 20 });
	const store = initializeMessageStorage(config, logger);
	const handler = {
		aggregateType: 'purchase',
		messageType: 'purchase.renewed',
		handle: async (message, client) => {
			await client.query('SELECT effects.apply_purchase($1)', [JSON.stringify(message.payload)]);
			handled++;
		},
	};
	const readers = Array.from({ length: peer.shards }, (_, shard) => receive(peer.stream(shard), store, pool));
	const [shutdown] = initializePollingMessageListener(config, [handler], logger,
		{ batchSizeStrategy: async () => BATCH });

	return async () => {
		stopped = true;
		await Promise.all([...readers, shutdown()]);
	};
}

// An attempt that was rolled back counts, too: the library tells it on stderr.
async function ledger() {
	const different = await peer.count('SELECT count(*) AS n FROM effects.ledger');

	return { lost: peer.messages - different, doubled: handled - different };
}

peer.main('pg-transactional-inbox', {
	modes: ['drain'],
	setup,
	start,
	handled: () => handled,
	marked: () => peer.count('SELECT count(*) AS n FROM inbox WHERE processed_at IS NOT NULL'),
	ledger,
});
