#!/usr/bin/env bash
# make profile-ingest: flame graphs of the server while it takes events in, into docs/profiles/.
# Linux with perf only. BENCH_EVENTS (1000000), BENCH_DIR (temporary files).
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
command -v perf >/dev/null 2>&1 || {
    echo "profile-ingest: perf is missing; on Debian: apt-get install linux-perf" >&2
    exit 1
}
tools=$(ci/tools/inferno.sh)
PATH="$tools:$PATH" exec python3 -B loadtest/bench/profile_ingest.py "$@"
