# c.sh - sourced by the run script of a contestant written in C: that program of the build that measures it,
# else of the release build.
programs=${BENCH_PROGRAMS:-$(cd "${BASH_SOURCE[0]%/*}/../../.." && pwd)/build/release/tests}
program=$programs/peer_$1
shift
if [ ! -x "$program" ]; then
	echo "$program is not built"
	exit 77
fi
exec "$program" "$@"
