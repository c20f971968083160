#!/bin/sh
# Builds the tools that draw flame graphs once and prints the folder they are in.
. "$(dirname "$0")/tools.sh"

version=0.12.7
home="$tools_dir/inferno-$version"

if [ ! -f "$home/complete" ]; then
    command -v cargo >/dev/null 2>&1 || fail "cargo is missing; install Rust"
    say "building inferno $version (once)"
    cargo install inferno --version "$version" --locked --quiet --root "$home" \
        --no-default-features --features cli >&2 ||
        fail "inferno did not build; check that the crate registry is reachable"
    touch "$home/complete"
fi
echo "$home/bin"
