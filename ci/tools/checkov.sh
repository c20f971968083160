#!/bin/sh
# Installs checkov, which looks for insecure settings in the modules of terraform/, in an environment of its own (it pins
# the versions of a hundred packages), and prints the path of the program.
. "$(dirname "$0")/tools.sh"

python=$(python_tool checkov "checkov==3.3.30" "checkov.main")
echo "${python%/*}/checkov"
