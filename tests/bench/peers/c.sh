# c.sh - sourced by the run script of a contestant written in C: that program of the release build.
program=$(cd "${BASH_SOURCE[0]%/*}/../../.." && pwd)/build/release/tests/peer_$1
shift
if [ ! -x "$program" ]; then
	echo "$program is not built"
	exit 77
fi
exec "$program" "$@"
