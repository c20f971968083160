#!/bin/sh
# Gets the definitions of the custom resources that k8s/components/ has (KEDA, Prometheus operator, Karpenter) from
# their Go modules, for the checks of make test-deploy, and prints their directory.
. "$(dirname "$0")/tools.sh"

keda=github.com/kedacore/keda/v2@v2.17.2
prometheus=github.com/prometheus-operator/prometheus-operator@v0.83.0
karpenter=github.com/aws/karpenter-provider-aws@v1.3.3
home="$tools_dir/crds-$(printf '%s' "$keda $prometheus $karpenter" | cksum | cut -d' ' -f1)"

# copy MODULE FILE...: files of a Go module, which is downloaded and not built.
copy() {
    directory=$(cd / && GOFLAGS=-mod=mod "$go" mod download -json "$1" 2>/dev/null | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    [ -n "$directory" ] || fail "$1 cannot be downloaded; check that the Go module proxy ($("$go" env GOPROXY)) is reachable"
    shift
    for file in "$@"; do cp "$directory/$file" "$work/"; done
}

if [ ! -d "$home" ]; then
    go=$("$(dirname "$0")/go.sh")
    work=$(mktemp -d "$tools_dir/.crds.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    copy "$keda" config/crd/bases/keda.sh_scaledobjects.yaml
    copy "$prometheus" example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml \
        example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml
    copy "$karpenter" pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml pkg/apis/crds/karpenter.sh_nodepools.yaml
    chmod 644 "$work"/*
    mv "$work" "$home"
    chmod 755 "$home"
    trap - EXIT
fi
echo "$home"
