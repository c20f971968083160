#!/usr/bin/env bash
# make run: starts Karst over ./data, takes in this machine's logs, Karst's own, and a generated
# web-shop sample, and says what to try next. Ctrl-C stops it; data stays.
set -euo pipefail
cd "$(dirname "$0")/.."
bin="${CARGO_TARGET_DIR:-target}/debug"
export KARST_DATA_DIR="${KARST_DATA_DIR:-data}"
monitor=()
[ -d /var/log ] && monitor=(--monitor /var/log)
"$bin/karst" server "${monitor[@]}" "$@" &
server=$!
trap 'kill -TERM $server 2>/dev/null || true; wait $server 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

# Ready is what this server says, not one that was there before: that one has left a session, too.
ready() {
  grep -qs "\"pid\":$server[,}]" "$KARST_DATA_DIR/local-session.json" \
    && "$bin/karst" list indexes >/dev/null 2>&1
}
until ready; do
  if ! kill -0 $server 2>/dev/null; then
    wait $server || code=$?
    trap - EXIT
    exit "${code:-1}"
  fi
  sleep 0.2
done

sample="$KARST_DATA_DIR/sample/web-shop.log"
if [ ! -e "$sample.added" ]; then
  mkdir -p "$(dirname "$sample")"
  "$bin/karst-loadgen" file --events 100000 --end now --span 24h "$sample"
  "$bin/karst" add oneshot "$sample" --sourcetype web_shop --host shop-01
  touch "$sample.added"
fi

cat <<TEXT

Karst is running. Try, in another terminal (in this directory):

  export PATH="$bin:\$PATH" KARST_DATA_DIR="$KARST_DATA_DIR"
  karst search 'index=main sourcetype=web_shop status>=500 | stats count by path' --earliest -24h
  karst search 'index=main | timechart span=1h count by sourcetype' --earliest -24h
  karst search 'index=_internal | head 5'
  karst list indexes

or open http://127.0.0.1:8000 (user admin, password in $KARST_DATA_DIR/auth/initial-password, as printed
at the first start).
Stop with Ctrl-C.
TEXT
wait $server
