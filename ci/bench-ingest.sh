#!/usr/bin/env bash
# make bench-ingest: the bars of ingest beside what is measured; writes docs/benchmarks.md.
# BENCH_EVENTS (2,000,000), BENCH_RUNS (3), BENCH_SOAK (60 s; 1800 for the real thing), BENCH_VISIBILITY
# (30 s), BENCH_BURSTS (3 s), BENCH_PARTS ("rates scaling soak visibility recovery bursts"), BENCH_DIR (temporary
# files), BENCH_NOTE;
# BENCH_QUICK=1 checks the harness in a minute and writes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
[ -r /proc/self/stat ] || { echo "error: CPU seconds are read from /proc: Linux only" >&2; exit 1; }
command -v python3 >/dev/null || { echo "error: python3 is missing; install Python 3.11" >&2; exit 1; }
exec python3 -B loadtest/bench/bench_ingest.py --write "$@"
