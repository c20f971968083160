#!/usr/bin/env bash
# make bench: ingest and search rates beside their bars, every answer checked against the generator;
# writes docs/benchmarks.md. BENCH_EVENTS (10,000,000), BENCH_DIR (temporary files), BENCH_NOTE.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
[ -r /proc/self/stat ] || { echo "error: CPU seconds are read from /proc: Linux only" >&2; exit 1; }
command -v python3 >/dev/null || { echo "error: python3 is missing; install Python 3.11" >&2; exit 1; }
exec python3 -B loadtest/bench/bench.py --write "$@"
