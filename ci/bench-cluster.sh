#!/usr/bin/env bash
# make bench-cluster: takeovers of the leader under load, searches over three indexers beside one process, indexers that leave and
# join (BENCH_HOT_EVENTS, 3000000; BENCH_AFTER, 60 s); the time of a step of the leader's decisions; then BENCH_KILLS (200) kills of
# any process of a cluster and of its S3 server. Arguments go to loadtest/bench/cluster.py: --only leave --write.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
python=$(ci/tools/python.sh)
ci/tools/minio.sh >/dev/null
"$python" -B loadtest/bench/cluster.py "$@"
echo
cargo build --locked -p karst-cluster -p karst-unify --example steps
"$CARGO_TARGET_DIR/debug/examples/steps"
echo
began=$SECONDS
CLUSTER_KILLS=${BENCH_KILLS:-200} ci/clients.sh tests/clients/test_cluster.py -q -k kills_of_any_process
echo "${BENCH_KILLS:-200} kills in $((SECONDS - began)) s"
