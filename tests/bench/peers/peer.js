// peer.js - what the contestants written for Node.js have in common: peer.h for their language.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');
const { spawn } = require('node:child_process');

const root = path.join(__dirname, '../../..');
const need = createRequire(path.join(process.env.UMAVEZ_BENCH_PEERS, 'package.json'));
const { Pool } = need('pg');
const { Redis } = need('ioredis');

const STALL_MS = 20000;

const mode = process.env.BENCH_MODE || 'drain';
const messages = Number(process.env.BENCH_MESSAGES || 10000);
const bytes = Number(process.env.BENCH_BYTES || 1024);
const shards = Number(process.env.BENCH_SHARDS || 4);
const connectionString = process.env.BENCH_DATABASE_URL;

const pool = new Pool({ connectionString, max: 2 });
const sql = async (text, values) => (await pool.query(text, values)).rows;
const count = async (text) => Number((await sql(text))[0].n);

function newRedis(options) {
	const url = new URL(process.env.BENCH_REDIS_URL);

	if (url.protocol !== 'unix:') return new Redis(url.href, options);
	return new Redis({ path: url.pathname, db: Number(url.searchParams.get('db') || 0), ...options });
}

// Commands of one turn of the event loop go in one write.
const redis = newRedis({ enableAutoPipelining: true });

const stream = (shard) => `peer:{${shard}}`;
let published = 0;

async function publish(event) {
	await redis.xadd(stream(Number(event.id) % shards), '*', 'id', event.id, 'data', JSON.stringify(event));
	published++;
}

const source = (name) => fs.readFileSync(path.join(root, name), 'utf8');
const makeEvents = () => sql(source('tests/bench/peers/sql/event.sql'));

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Until all are handled and marked so, or nothing has moved for too long: then the rest is lost.  The
// database is asked only at the end, when that costs nobody's time.
async function finished({ handled = () => published, marked }) {
	let last = -1;

	for (let moved = Date.now(); Date.now() - moved < STALL_MS; await sleep(10)) {
		const now = handled() < messages ? handled() : await marked();

		if (now >= messages) return;
		if (now !== last) moved = Date.now();
		last = now;
	}
}

async function streamLedger() {
	const keys = Array.from({ length: shards }, (_, shard) => stream(shard));
	const script = source('tests/bench/peers/ledger.lua');
	const [entries, different] = await redis.eval(script, shards, ...keys);

	return { lost: messages - different, doubled: entries - different };
}

// Measured by a program that no event loop can delay; exits as it does.
function probe(name, statements) {
	const program = path.join(root, 'build/release/tests/peer_probe');
	const child = spawn(program, [name, ...statements], { stdio: 'inherit' });

	return new Promise((resolve, reject) => {
		child.on('error', reject).on('exit', (status) => resolve(status ?? 1));
	});
}

async function drain(name, contestant) {
	const began = process.hrtime.bigint();
	const stop = await contestant.start();

	await finished(contestant);
	const seconds = Number(process.hrtime.bigint() - began) / 1e9;
	await stop();
	const { lost, doubled } = await (contestant.ledger || streamLedger)();
	console.log(JSON.stringify({ contestant: name, mode, messages, seconds: Number(seconds.toFixed(3)), lost,
		doubled }));
	return lost === 0 && doubled === 0 ? 0 : 1;
}

async function latency(name, contestant) {
	const stop = await contestant.start();
	const status = await probe(name, [contestant.insert]);

	await stop();
	return status;
}

const measures = {
	drain,
	latency,
	enqueue: (name, contestant) => probe(name, [contestant.insert, contestant.count]),
};

async function check(name, contestant) {
	let lacks = !contestant.modes.includes(mode) && 'has no such mode';

	if (!lacks && contestant.lacks) lacks = await contestant.lacks();

	if (lacks) console.log(`${name}: ${lacks}`);
	return lacks ? 77 : 0;
}

/*
 * A contestant has
 *	modes		which of drain, latency and enqueue
 *	lacks()		what is missing on this server; may be left out
 *	setup()
 *	start()		begins to handle messages; gives the function that ends it
 *	handled()	how many went through its handler; left out: how many were published
 *	marked()	how many the database holds as done
 *	ledger()	{ lost, doubled }; left out: of the streams
 *	cleanup()	after measure, whatever came of it; may be left out
 *	insert, count	the statements of probe.h, for latency and enqueue
 */
async function main(name, contestant) {
	const verbs = {
		check: () => check(name, contestant),
		setup: async () => {
			await makeEvents();
			await contestant.setup();
			return 0;
		},
		measure: async () => {
			try {
				return await measures[mode](name, contestant);
			} finally {
				if (contestant.cleanup) await contestant.cleanup();
			}
		},
	};
	const verb = verbs[process.argv[2]];

	if (!verb || !connectionString || !process.env.BENCH_REDIS_URL) {
		console.error('usage: run check | setup | measure, with the variables of README.md');
		process.exit(2);
	}
	process.exit(await verb());
}

module.exports = { bytes, connectionString, count, main, messages, mode, need, newRedis, publish, redis, shards,
	sleep, sql, stream };
