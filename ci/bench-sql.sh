#!/usr/bin/env bash
# make bench-sql: SPL beside the same SQL in DataFusion over the same Parquet, and the time that planning takes;
# BENCH_EVENTS (2,000,000), BENCH_DIR (temporary files), BENCH_NOTE.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
command -v python3 >/dev/null || { echo "error: python3 is missing; install Python 3.11" >&2; exit 1; }
DATAFUSION_PYTHON="$(sh ci/tools/peer.sh datafusion datafusion==55.0.0 datafusion)"
export DATAFUSION_PYTHON
cargo build --locked -p karst-spectest -p karst-unify --example planning
(cd crates/spectest && "$CARGO_TARGET_DIR/debug/examples/planning")
exec python3 -B loadtest/bench/languages.py --write "$@"
