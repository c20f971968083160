#!/bin/sh
# Installs a SAML identity provider for the tests (samlp for Node.js), once, and prints the folder of its
# packages.
. "$(dirname "$0")/tools.sh"

version=8.0.0
home="$tools_dir/samlp-$version"
if [ ! -f "$home/complete" ]; then
    command -v npm >/dev/null 2>&1 || fail "npm is missing; install Node.js 20 or newer"
    say "installing samlp $version for Node.js (once)"
    rm -rf "$home"
    mkdir -p "$home"
    npm install --prefix "$home" --no-audit --no-fund --ignore-scripts --loglevel=error \
        "samlp@$version" >&2 ||
        fail "samlp $version did not install; check that the npm registry is reachable"
    touch "$home/complete"
fi
echo "$home/node_modules"
