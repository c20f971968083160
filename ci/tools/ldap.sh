#!/bin/sh
# Prints the path of slapd, the directory of the tests; installs Debian's when run as root there.
. "$(dirname "$0")/tools.sh"

find_slapd() {
    for name in "${KARST_SLAPD:-}" slapd /usr/sbin/slapd /usr/lib/openldap/slapd /usr/libexec/slapd; do
        if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

find_slapd && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "installing slapd (once)"
    log="$tools_dir/slapd.log"
    # RUNLEVEL=1: the package does not start a directory of its own.
    if ! { apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends slapd; } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        fail "slapd did not install with apt-get"
    fi
    find_slapd && exit 0
fi
fail "slapd is missing; Debian: apt-get install slapd; or set KARST_SLAPD"
