#!/usr/bin/env bash
# make bench-addons: what the add-ons of an installation cost searches that are not about them; BENCH_NOTE.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
python=$(ci/tools/python.sh)
exec "$python" -B loadtest/bench/addons.py --write "$@"
