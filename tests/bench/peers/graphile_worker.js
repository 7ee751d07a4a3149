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

async function setup() {
	await runMigrations({ preset });
	if (peer.mode !== 'drain') return;
	await peer.sql(insert('generate_series(0, $1::bigint - 1)'), [peer.messages, peer.bytes]);
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
