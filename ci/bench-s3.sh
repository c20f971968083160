#!/usr/bin/env bash
# make bench-s3: a needle over BENCH_BUCKETS (2000) buckets in S3, 50 ms away; prints times and requests.
# BENCH_DIR (temporary files: about 1 MB per bucket); arguments go to loadtest/bench/s3.py, --write among them.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
[ -r /proc/self/stat ] || { echo "error: CPU seconds are read from /proc: Linux only" >&2; exit 1; }
python=$(ci/tools/python.sh)
exec "$python" -B loadtest/bench/s3.py "$@"
