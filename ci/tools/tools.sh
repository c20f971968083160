# Shared by the installers in this folder (sourced, not run): where tools live and how they are built.
#
# Tools go to ${KARST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/karst-tools}/<name>-<version>, outside the
# clone, one folder per pinned version, so running an installer again does nothing.

set -eu

tools_dir="${KARST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/karst-tools}"
mkdir -p "$tools_dir"

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

# have_go GO: whether GO is a Go toolchain of at least 1.24.
have_go() {
    version=$("$1" env GOVERSION 2>/dev/null) || return 1
    version=${version#go}
    major=${version%%.*}
    rest=${version#*.}
    minor=${rest%%[!0-9]*}
    [ "${major:-0}" -gt 1 ] || { [ "${major:-0}" -eq 1 ] && [ "${minor:-0}" -ge 24 ]; }
}

# half_of_cores: how many build steps run side by side, so that a laptop stays usable.
half_of_cores() {
    cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
    echo $(((cores + 1) / 2))
}

# go_tool NAME VERSION PACKAGE: builds one Go program into NAME-VERSION/NAME and prints its path.
# A half-built program is never left at the final path: the last step is a rename.
go_tool() {
    home="$tools_dir/$1-$2"
    if [ ! -x "$home/$1" ]; then
        go=$("$(dirname "$0")/go.sh")
        say "building $1 $2 (once; a few minutes)"
        work=$(mktemp -d "$tools_dir/.$1.XXXXXX")
        trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
        jobs=$(half_of_cores)
        if ! GOBIN="$work/bin" GOFLAGS=-trimpath GOTOOLCHAIN=local GOMAXPROCS="$jobs" \
            nice -n 15 "$go" install -p "$jobs" -ldflags='-s -w' "$3@$2" >"$work/log" 2>&1; then
            tail -n 20 "$work/log" >&2
            fail "$1 $2 did not build; check that the Go module proxy ($("$go" env GOPROXY)) is reachable"
        fi
        mkdir -p "$home"
        mv "$work/bin/$1" "$home/$1"
        rm -rf "$work"
        trap - EXIT
    fi
    echo "$home/$1"
}

# python_tool NAME PINS IMPORTS: makes a Python environment with packages of pinned versions and prints
# the path of its interpreter. Changing a pin makes a new one: its folder's name is a checksum of the pins.
python_tool() {
    home="$tools_dir/$1-$(printf '%s' "$2" | cksum | cut -d' ' -f1)"
    if [ ! -f "$home/complete" ]; then
        command -v python3 >/dev/null 2>&1 || fail "python3 is missing; install Python 3.10 or newer"
        say "installing $2 (once)"
        rm -rf "$home"
        python3 -m venv "$home" >/dev/null ||
            fail "python3 cannot make a venv; on Debian: apt-get install python3-venv"
        # shellcheck disable=SC2086 # the pins are words
        "$home/bin/pip" install --quiet --disable-pip-version-check $2 >&2 ||
            fail "$2 did not install; check that the Python package registry is reachable"
        "$home/bin/python" -c "import $3" ||
            fail "the Python environment in $home does not work; remove the folder and try again"
        touch "$home/complete"
    fi
    echo "$home/bin/python"
}
