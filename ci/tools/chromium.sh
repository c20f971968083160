#!/bin/sh
# Prints the path of a Chromium for the console's tests; installs Debian's when run as root there.
. "$(dirname "$0")/tools.sh"

# find_chromium: the first one that is there.
find_chromium() {
    for name in "${KARST_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable \
        "/Applications/Chromium.app/Contents/MacOS/Chromium" \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

find_chromium && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "installing chromium (once)"
    log="$tools_dir/chromium.log"
    if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends chromium fonts-dejavu-core; } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        fail "chromium did not install with apt-get"
    fi
    find_chromium && exit 0
fi
fail "chromium is missing; Debian: apt-get install chromium; macOS: brew install --cask chromium; or set KARST_CHROMIUM"
