#!/bin/sh
# Installs an OpenID provider for the tests (oidc-provider for Node.js), once, and prints the folder of
# its packages.
. "$(dirname "$0")/tools.sh"

version=8.8.1
home="$tools_dir/oidc-provider-$version"
if [ ! -f "$home/complete" ]; then
    command -v npm >/dev/null 2>&1 || fail "npm is missing; install Node.js 20 or newer"
    say "installing oidc-provider $version for Node.js (once)"
    rm -rf "$home"
    mkdir -p "$home"
    npm install --prefix "$home" --no-audit --no-fund --ignore-scripts --loglevel=error \
        "oidc-provider@$version" >&2 ||
        fail "oidc-provider $version did not install; check that the npm registry is reachable"
    touch "$home/complete"
fi
echo "$home/node_modules"
