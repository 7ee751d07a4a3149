# cache.sh - where install puts the npm packages; sourced.
peers_cache=${UMAVEZ_BENCH_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/umavez/peers}
