#!/usr/bin/env bash
# make bench-abuse: attacks on a server with default settings, one kind after the other, beside a client that means
# no harm; what they cost, and whether the client is served. Takes six minutes; replaces its section of
# docs/benchmarks.md unless only some attacks run.
# BENCH_DIR (temporary files); arguments go to loadtest/bench/abuse.py (--only TEXT,TEXT; --time FACTOR; --keep).
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
command -v python3 >/dev/null || { echo "error: python3 is missing; install Python 3.11" >&2; exit 1; }
# Attackers hold thousands of connections.
ulimit -n "$(ulimit -Hn)"
exec python3 -B loadtest/bench/abuse.py --write "$@"
