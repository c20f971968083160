#!/usr/bin/env bash
# make bench-objects: time and memory of a search beside the number of calculated fields, aliases and lookups it
# must consider; BENCH_NOTE.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
python=$(ci/tools/python.sh)
exec "$python" -B loadtest/bench/objects.py --write "$@"
