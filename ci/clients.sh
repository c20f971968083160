#!/usr/bin/env bash
# make test-clients: real clients (splunk-sdk, pyarrow, duckdb, curl-like HTTP, a browser) against a
# real server that is stopped, killed and started while they work. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
python=$(ci/tools/python.sh)
export PYTHONDONTWRITEBYTECODE=1
pytest=("$python" -m pytest -c tests/clients/pytest.ini --rootdir tests/clients)
if (($#)); then
  exec "${pytest[@]}" "$@"
fi
# Most tests wait for processes: three files at a time, each with servers of its own, those that take long first
# (tests/clients/conftest.py).
exec "${pytest[@]}" -n 3 --dist loadfile --no-loadscope-reorder tests/clients
