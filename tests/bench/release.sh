# release.sh - sourced by the programs of this directory: build one of the release build, and run it.
#
#	run_release NAME ARGUMENT...
run_release() {
	local target=$1 log
	shift
	cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
	. tests/support/packages.sh
	packages_need "${packages_build[@]}" "${packages_servers[@]}" || exit 1
	cmake --preset release >/dev/null || exit 1
	log=$(mktemp) || exit 1
	cmake --build --preset release -j "$(nproc)" --target "$target" >"$log" 2>&1 || { cat "$log"; exit 1; }
	rm -f "$log"
	exec "build/release/tests/$target" "$@"
}
