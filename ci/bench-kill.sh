#!/usr/bin/env bash
# make bench-kill: 300 times kill -9 of server, forwarder and S3 server under load, with full disks, fenced
# servers and torn journals among them; says what was lost.
# BENCH_KILLS (300), BENCH_DIR (temporary files); arguments go to loadtest/bench/kill.py.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
python=$(ci/tools/python.sh)
states=()
# A disk that can be filled is a tmpfs, which needs root.
if [ "$(uname)" = Linux ] && [ "$(id -u)" = 0 ]; then states=(--states); fi
exec "$python" -B loadtest/bench/kill.py --s3 --forwarder "${states[@]}" "$@"
