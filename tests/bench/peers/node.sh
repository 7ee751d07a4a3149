# node.sh - sourced by the run script of a contestant written for Node.js: a file beside this one.
peers=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
. "$peers/cache.sh"
if ! node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' 2>/dev/null; then
	echo "Node.js 20 is not there"
	exit 77
fi
if ! cmp -s "$peers/package-lock.json" "$peers_cache/package-lock.json" ||
	[ ! -d "$peers_cache/node_modules" ]; then
	echo "npm packages are not installed: tests/bench/peers/install"
	exit 77
fi
program=$peers/$1
shift
UMAVEZ_BENCH_PEERS=$peers_cache NODE_ENV=production exec node "$program" "$@"
