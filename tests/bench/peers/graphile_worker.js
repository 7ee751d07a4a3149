// graphile-worker: a job a message; the settings of its pages on performance.
'use strict';

const peer = require('./peer.js');
const { Logger, run, runMigrations } = peer.need('graphile-worker');

const logger = new Logger(() => (level, message) => {
	if (level === 'error') console.error(message);
});
const preset = {
	worker: {
		connectionString: peer.connectionString,
		logger,
		concurrentJobs: 24,
		maxPoolSize: 26,
		pollInterval: 100,
		// A queue of its own trades latency for throughput.
		localQueue: { size: peer.mode === 'drain' ? 500 : -1 },
		completeJobBatchDelay: 0,
		failJobBatchDelay: 0,
	},
};
const jobs = 'graphile_worker._private_jobs';
const insert = (from) => `SELECT count(graphile_worker.add_job('publish', peer_event(n, $2)::json))
	FROM ${from} AS n`;

const FILL_ROWS = 1000;

async function fill(from, to) {
	await peer.sql(`SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
		SELECT ('publish', peer_event(n, $3)::json, NULL, NULL, NULL, NULL, NULL, NULL)::graphile_worker.job_spec
		FROM generate_series($1::bigint, $2::bigint - 1) AS n))`, [from, to, peer.bytes]);
}

// Without statistics adding a job scans all that are there: the table is made to look like one in use.
async function setup() {
	await runMigrations({ preset });
	await fill(0, FILL_ROWS);
	await peer.sql(`ANALYZE ${jobs}`);
	await peer.sql(`DELETE FROM ${jobs}`);
	if (peer.mode !== 'drain') return;
	for (let n = 0; n < peer.messages; n += FILL_ROWS) await fill(n, Math.min(n + FILL_ROWS, peer.messages));
	await peer.sql(`VACUUM ANALYZE ${jobs}`);
}

peer.main('graphile-worker', {
	modes: ['drain', 'latency', 'enqueue'],
	setup,
	start: async () => {
		const runner = await run({ preset, noHandleSignals: true, taskList: { publish: peer.publish } });

		return () => runner.stop();
	},
	// A job that is done is deleted.
	marked: async () => peer.messages - (await peer.count(`SELECT count(*) AS n FROM ${jobs}`)),
	insert: insert('generate_series($1::bigint, $1)'),
	count: `SELECT count(*), count(DISTINCT payload ->> 'id') FROM ${jobs}`,
});
