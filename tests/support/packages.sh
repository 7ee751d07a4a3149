# packages.sh - the Debian packages that building and testing need; sourced by ./demo and tests/run.
#
# packages_need NAME... installs what is missing: as root, or through sudo where it asks for no password
# or there is a terminal to ask on.  Elsewhere it names the packages and returns 1.

packages_build=(gcc libc6-dev cmake ninja-build pkg-config libpq-dev libhiredis-dev libjansson-dev
	libevent-dev libssl-dev libjose-dev libcurl4-openssl-dev libcunit1-dev)
packages_servers=(postgresql-15 redis-server)
packages_tests=(patch valgrind spin pgbouncer)
packages_lint=(clang-format clang-tidy)
packages_fuzz=(clang libclang-rt-14-dev)

packages_missing() {
	local name

	for name in "$@"; do
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
			echo "$name"
	done
}

# Debian starts a server that it installs.  Ours are private: nothing else may be left running.
packages_install() {
	local policy=/usr/sbin/policy-rc.d made=

	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null &&
			"${as_root[@]}" chmod 755 $policy && made=yes
	fi
	"${as_root[@]}" apt-get -qq update &&
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
			apt-get -qq install -y --no-install-recommends "$@" >/dev/null
	local status=$?
	[ -z "$made" ] || "${as_root[@]}" rm -f $policy
	return $status
}

packages_need() {
	local missing as_root=()

	if ! command -v dpkg-query >/dev/null; then
		echo "Not a Debian system; these must be there by other means: $*" >&2
		return 0
	fi
	mapfile -t missing < <(packages_missing "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ]; then
		as_root=(sudo)
		if ! command -v sudo >/dev/null || ! { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
			echo "These packages are missing, and only root can install them:" >&2
			echo "    apt-get install ${missing[*]}" >&2
			return 1
		fi
	fi
	echo "Installing ${missing[*]}"
	packages_install "${missing[@]}"
}
