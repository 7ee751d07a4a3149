// pg-boss: a job a message, fetched and completed in batches; live, by its worker at its shortest interval.
'use strict';

const peer = require('./peer.js');
const PgBoss = peer.need('pg-boss');

const QUEUE = 'purchases';
const BATCH = 1000;
const FETCHERS = 4;

const options = { batchSize: BATCH, priority: false };
const insert = (from) => `INSERT INTO pgboss.job (name, data)
	SELECT '${QUEUE}', peer_event(n, $2)::jsonb FROM ${from} AS n`;
let stopped = false;

async function open() {
	const boss = new PgBoss({ connectionString: peer.connectionString, max: 10 });

	boss.on('error', (err) => console.error(err));
	await boss.start();
	return boss;
}

async function setup() {
	const boss = await open();

	await boss.createQueue(QUEUE);
	await boss.stop({ graceful: false });
	if (peer.mode !== 'drain') return;
	await peer.sql(insert('generate_series(0, $1::bigint - 1)'), [peer.messages, peer.bytes]);
	await peer.sql('VACUUM ANALYZE pgboss.job');
}

const handle = (jobs) => Promise.all(jobs.map((job) => peer.publish(job.data)));

// work() sleeps between batches, however many wait.
async function fetch(boss) {
	while (!stopped) {
		const jobs = await boss.fetch(QUEUE, options);

		if (jobs.length === 0) {
			await peer.sleep(10);
			continue;
		}
		await handle(jobs);
		await boss.complete(QUEUE, jobs.map((job) => job.id));
	}
}

async function start() {
	const boss = await open();
	let fetchers = [];

	if (peer.mode === 'drain') fetchers = Array.from({ length: FETCHERS }, () => fetch(boss));
	else await boss.work(QUEUE, { ...options, pollingIntervalSeconds: 0.5 }, handle);
	return async () => {
		stopped = true;
		await Promise.all(fetchers);
		await boss.stop({ graceful: false });
	};
}

peer.main('pg-boss', {
	modes: ['drain', 'latency', 'enqueue'],
	setup,
	start,
	marked: () => peer.count("SELECT count(*) AS n FROM pgboss.job WHERE state = 'completed'"),
	insert: insert('generate_series($1::bigint, $1)'),
	count: "SELECT count(*), count(DISTINCT data ->> 'id') FROM pgboss.job",
});
