#!/usr/bin/env bash
# make bench-catalog: commits a second over a directory and over S3; then opening a catalog of BENCH_BUCKETS buckets
# of BENCH_HOSTS hosts each, header by header and from packs, and planning searches over it.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
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
