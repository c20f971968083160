#!/bin/sh
# Makes the Python environment of one peer of the benchmark (loadtest/peers) once and prints the path of
# its interpreter: peer.sh NAME PINS IMPORTS.
. "$(dirname "$0")/tools.sh"
python_tool "peer-$1" "$2" "$3"
