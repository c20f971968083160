#!/usr/bin/env bash
# make bench-deployment: what a deployment server costs with 1,000 forwarders. Arguments go to loadtest/bench/deployment.py.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
python=$(ci/tools/python.sh)
exec "$python" -B loadtest/bench/deployment.py "$@"
