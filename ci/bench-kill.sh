#!/usr/bin/env bash
# make bench-kill: 200 times kill -9 of server, forwarder and S3 server under load; says what was lost.
# BENCH_KILLS (200), BENCH_DIR (temporary files); arguments go to loadtest/bench/kill.py.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
python=$(ci/tools/python.sh)
exec "$python" -B loadtest/bench/kill.py --s3 --forwarder "$@"
