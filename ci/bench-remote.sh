#!/usr/bin/env bash
# make bench-remote: what ackLevel = remote costs over MinIO, and replicated over three indexers, and how long the recovery of a lost indexer takes. Arguments
# go to loadtest/bench/remote.py.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
python=$(ci/tools/python.sh)
ci/tools/minio.sh >/dev/null
"$python" -B loadtest/bench/remote.py "$@"
echo
began=$SECONDS
CLUSTER_LOSSES=${BENCH_LOSSES:-20} ci/clients.sh tests/clients/test_failover.py -q -k lost_with_their_disks
echo "${BENCH_LOSSES:-20} lost indexers in $((SECONDS - began)) s"
