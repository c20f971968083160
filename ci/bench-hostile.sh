#!/usr/bin/env bash
# make bench-hostile: memory, and time after a cancellation, of over 300 searches that are made to hurt. Takes an
# hour; replaces its section of docs/benchmarks.md unless only some searches run.
# BENCH_DIR (temporary files); arguments go to loadtest/bench/hostile.py (--only TEXT,TEXT; --patience SECONDS; --keep).
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
command -v python3 >/dev/null || { echo "error: python3 is missing; install Python 3.11" >&2; exit 1; }
exec python3 -B loadtest/bench/hostile.py --write "$@"
