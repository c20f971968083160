#!/usr/bin/env bash
# make bench-peers: the searches of make bench asked of Karst and of other engines over the same events, in
# one session; writes docs/benchmarks.md. BENCH_EVENTS (10,000,000), BENCH_RUNS (at most 40 warm ones),
# BENCH_PEERS ("karst duckdb clickhouse tantivy"; fewer write nothing), BENCH_DIR (temporary files: 4 times
# the text, 310 bytes per event), BENCH_NOTE.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
[ -r /proc/self/stat ] || { echo "error: CPU seconds are read from /proc: Linux only" >&2; exit 1; }
command -v python3 >/dev/null || { echo "error: python3 is missing; install Python 3.11" >&2; exit 1; }
exec python3 -B loadtest/peers/bench_peers.py --write "$@"
