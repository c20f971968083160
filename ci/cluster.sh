#!/usr/bin/env bash
# make cluster: starts a cluster on this machine (control plane and standby, three indexers, two search heads) over
# ./data-cluster, takes in a generated sample, and says what to try and what to kill. Ctrl-C stops it; data stays.
set -euo pipefail
# Ctrl-C reaches this script only, which stops them in order.
set -m
cd "$(dirname "$0")/.."
bin="$(cd "${CARGO_TARGET_DIR:-target}/debug" && pwd)"
data="${KARST_CLUSTER_DATA:-data-cluster}"
mkdir -p "$data"
data="$(cd "$data" && pwd)"
store="$data/objects"
pids=()

# Search heads and indexers first, so that they can commit what they have.
stop() {
  trap - EXIT INT TERM
  for ((at = ${#pids[@]} - 1; at >= 0; at--)); do
    kill -TERM "${pids[at]}" 2>/dev/null || true
    wait "${pids[at]}" 2>/dev/null || true
  done
}
trap stop EXIT
trap 'exit 130' INT TERM

# A real S3 server, where make tools has built one.
minio="$(ls -d "${XDG_CACHE_HOME:-$HOME/.cache}"/karst-tools/minio-*/minio 2>/dev/null | head -1 || true)"
if [ -x "$minio" ]; then
  export AWS_ACCESS_KEY_ID=karst AWS_SECRET_ACCESS_KEY=karst-cluster AWS_REGION=us-east-1
  export AWS_ENDPOINT=http://127.0.0.1:9100 AWS_ALLOW_HTTP=true
  mkdir -p "$data/s3/karst"
  MINIO_ROOT_USER=$AWS_ACCESS_KEY_ID MINIO_ROOT_PASSWORD=$AWS_SECRET_ACCESS_KEY MINIO_BROWSER=off \
    "$minio" server --quiet --address 127.0.0.1:9100 "$data/s3" >"$data/s3.log" 2>&1 &
  pids+=($!)
  store=s3://karst/cluster
  until curl -fs http://127.0.0.1:9100/minio/health/ready >/dev/null; do sleep 0.2; done
fi

[ -d "$data/credentials" ] || "$bin/karst" cluster init "$data/credentials" >/dev/null
export KARST_CLUSTER_DIR="$data/credentials" KARST_OBJECT_STORE="$store"

# start NAME ROLE BASE-PORT
start() {
  local command=("$bin/karst" server --role "$2" --server-name "$1" --data-dir "$data/$1"
    --cluster-address "127.0.0.1:$(($3 + 7))" --management-address "127.0.0.1:$(($3 + 9))"
    --hec-address "127.0.0.1:$(($3 + 8))" --web-address "127.0.0.1:$3"
    --manager-uri 127.0.0.1:17007,127.0.0.1:17067)
  # With the keys of the store: for the one who starts it only.
  (
    umask 077
    { declare -px | grep -E ' (AWS|KARST)_'; echo "exec ${command[*]@Q}"; } >"$data/$1.sh"
  )
  "${command[@]}" >>"$data/$1.log" 2>&1 &
  pids+=($!)
  eval "pid_$1=$!"
  until grep -qs "\"pid\":$![,}]" "$data/$1/local-session.json"; do
    kill -0 $! 2>/dev/null || { tail -5 "$data/$1.log"; exit 1; }
    sleep 0.1
  done
  echo "$1: $2, process $!, management https://127.0.0.1:$(($3 + 9))"
}
start manager control-plane 17000
start standby control-plane 17060
start indexer1 indexer 17010
start indexer2 indexer 17020
start indexer3 indexer 17030
start head1 search-head 17040
start head2 search-head 17050

sample="$data/sample"
if [ ! -d "$sample" ]; then
  mkdir -p "$sample"
  for number in 1 2 3; do
    "$bin/karst-loadgen" file --events 30000 --end now --span 24h "$sample/shop-0$number.log"
    "$bin/karst" add oneshot "$sample/shop-0$number.log" --sourcetype web_shop --host "shop-0$number" \
      --data-dir "$data/indexer$number"
  done
fi

cat <<TEXT

The cluster is running. Try, in another terminal:

  export PATH="$bin:\$PATH" KARST_DATA_DIR="$data/head1"
  karst cluster status
  karst search 'index=main sourcetype=web_shop | stats count by host' --earliest -24h
  KARST_DATA_DIR="$data/head2" karst search 'index=main status>=500 | timechart count by host' --earliest -24h

or open http://127.0.0.1:17040 (user admin, password in $data/manager/auth/initial-password).
Kill something and search again:

  kill -9 $pid_indexer2   # results say that they are incomplete; what it has acknowledged is in its journal
  kill -9 $pid_manager   # searches and intake go on; the standby leads after three seconds
  karst cluster status

Start it again with bash $data/indexer2.sh; logs are beside it. Stop all with Ctrl-C.
TEXT
wait
