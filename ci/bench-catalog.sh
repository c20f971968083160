#!/usr/bin/env bash
# make bench-catalog: commits a second over a directory and over S3; then opening a catalog of BENCH_BUCKETS buckets
# of BENCH_HOSTS hosts each, header by header and from packs, and planning searches over it.
# With --large (make bench-catalog-large): a control plane alone over BENCH_BUCKETS (5,000,000) buckets, its memory, restarts
# and requests, and a rolling restart of BENCH_INDEXERS (3) indexers. Further arguments go to loadtest/bench/catalog.py:
# --write, --store DIRECTORY (keeps the filled catalog). BENCH_DIR: temporary files, 3 GB. Linux.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
if [ "${1:-}" = --large ]; then
    cargo build --locked -p karst-catalog -p karst-unify --example rates
    exec python3 -B loadtest/bench/catalog.py --rates "$CARGO_TARGET_DIR/debug/examples/rates" "${@:2}"
fi
ci/tools/minio.sh >/dev/null
cargo build --locked -p karst-catalog -p karst-search -p karst-unify --example rates --example planning
examples=$CARGO_TARGET_DIR/debug/examples
"$examples/rates"
buckets=${BENCH_BUCKETS:-1000000}
hosts=${BENCH_HOSTS:-3}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
printf '\n%s buckets of %s hosts: ' "$buckets" "$hosts"
"$examples/rates" fill "$directory" "$buckets" "$hosts"
"$examples/rates" reopen "$directory" headers
"$examples/rates" reopen "$directory"
"$examples/planning" "$directory"
