#!/bin/sh
# Makes the Python environment of the cross-checks once (our buckets opened by other engines, the
# Splunk SDK against our REST) and prints the path of its interpreter.
. "$(dirname "$0")/tools.sh"

# Changing a pin makes a new environment: the folder's name is a checksum of the pins.
pins="pyarrow==26.0.1 duckdb==2.0.0 splunk-sdk==2.1.1 elasticsearch==8.19.3 moto[s3,sqs,events]==5.2.5 flask==3.1.2 flask-cors==6.0.1 pytest==8.4.2"
home="$tools_dir/python-$(printf '%s' "$pins" | cksum | cut -d' ' -f1)"

if [ ! -f "$home/complete" ]; then
    command -v python3 >/dev/null 2>&1 || fail "python3 is missing; install Python 3.10 or newer"
    say "installing $pins (once)"
    rm -rf "$home"
    python3 -m venv "$home" >/dev/null ||
        fail "python3 cannot make a venv; on Debian: apt-get install python3-venv"
    # shellcheck disable=SC2086 # the pins are words
    "$home/bin/pip" install --quiet --disable-pip-version-check $pins ||
        fail "$pins did not install; check that the Python package registry is reachable"
    "$home/bin/python" -c 'import duckdb, elasticsearch, moto.server, pyarrow.parquet, pytest, splunklib.client' ||
        fail "the Python environment in $home does not work; remove the folder and try again"
    touch "$home/complete"
fi
echo "$home/bin/python"
