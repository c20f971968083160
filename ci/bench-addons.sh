#!/usr/bin/env bash
# make bench-addons: times of searches with and without the add-ons of an installation; BENCH_NOTE.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
python=$(ci/tools/python.sh)
exec "$python" -B loadtest/bench/addons.py --write "$@"
