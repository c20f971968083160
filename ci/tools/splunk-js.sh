#!/bin/sh
# Installs Splunk's JavaScript SDK for the tests, once, and prints the folder to require it from.
. "$(dirname "$0")/tools.sh"

version=2.0.2
home="$tools_dir/splunk-sdk-js-$version"
if [ ! -f "$home/complete" ]; then
    command -v npm >/dev/null 2>&1 || fail "npm is missing; install Node.js 20 or newer"
    say "installing splunk-sdk $version for Node.js (once)"
    rm -rf "$home"
    mkdir -p "$home"
    npm install --prefix "$home" --no-audit --no-fund --ignore-scripts --loglevel=error \
        "splunk-sdk@$version" >&2 ||
        fail "splunk-sdk $version did not install; check that the npm registry is reachable"
    touch "$home/complete"
fi
echo "$home/node_modules/splunk-sdk"
