#!/bin/sh
# Installs Helm, for the tests and the package of the chart in deploy/helm, and prints its path.
. "$(dirname "$0")/tools.sh"
go_tool helm v3.19.5 helm.sh/helm/v3/cmd/helm
