#!/usr/bin/env bash
# Builds what the test cluster needs, once, and prints its directory: etcd and Kubernetes from their Go modules,
# CoreDNS with few plugins; containerd, runc and CNI plugins unpacked from Debian's packages. About ten minutes of
# one core the first time; 500 MB.
set -euo pipefail
. "$(dirname "$0")/../kubernetes/settings.sh"
scripts=$here
say() { echo "$*" >&2; }
fail() { say "kubernetes: $*"; exit 1; }
mkdir -p "$TOOLS"/{bin,src,debs,root,images}
log=$TOOLS/build.log

# module DIR MAIN...: a module that requires one other, with its programs as tools
module() {
  local directory=$1 require=$2
  shift 2
  mkdir -p "$directory"
  [ -s "$directory/go.sum" ] && return
  printf 'module example.invalid/tools\n\ngo 1.25.0\n\nrequire %s\n' "$require" >"$directory/go.mod"
  if [ $# -gt 0 ]; then
    { printf '//go:build tools\n\npackage tools\n\nimport (\n'; printf '\t_ "%s"\n' "$@"; echo ')'; } >"$directory/tools.go"
  fi
}
tidy() { [ -s go.sum ] || nice go mod tidy >>"$log" 2>&1 || fail "go mod tidy failed in $PWD: see $log"; }
build() {
  local flags=$1
  shift
  CGO_ENABLED=0 GOFLAGS="-mod=mod -buildvcs=false -p=${KARST_BUILD_JOBS:-2}" \
    nice go build -trimpath -ldflags "-s -w $flags" -o "$TOOLS/bin/" "$@" >>"$log" 2>&1 || fail "go build failed: see $log"
}

command -v go >/dev/null || fail "Go is missing (https://go.dev/dl)"
components="kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubelet"
command -v kubectl >/dev/null || components="$components kubectl"
missing=
for component in $components; do [ -x "$TOOLS/bin/$component" ] || missing="$missing k8s.io/kubernetes/cmd/$component"; done
if [ -n "$missing" ]; then
  say "building Kubernetes $KUBERNETES_VERSION (once, about eight minutes of one core)"
  mkdir -p "$TOOLS/src/k8s"
  cd "$TOOLS/src/k8s"
  module . "k8s.io/kubernetes v$KUBERNETES_VERSION" $missing
  if [ ! -s go.sum ]; then
    # The parts of Kubernetes require each other as v0.0.0, which only its own workspace has.
    for part in api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider \
      cluster-bootstrap code-generator component-base component-helpers controller-manager cri-api cri-client \
      csi-translation-lib dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator \
      kube-controller-manager kube-proxy kube-scheduler kubectl kubelet metrics mount-utils \
      pod-security-admission sample-apiserver sample-cli-plugin sample-controller; do
      echo "replace k8s.io/$part => k8s.io/$part v0.${KUBERNETES_VERSION#1.}"
    done >>go.mod
  fi
  tidy
  minor=${KUBERNETES_VERSION#1.}
  version=k8s.io/component-base/version
  build "-X $version.gitVersion=v$KUBERNETES_VERSION -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*} \
    -X k8s.io/client-go/pkg/version.gitVersion=v$KUBERNETES_VERSION" $missing
fi
if [ ! -x "$TOOLS/bin/etcd" ]; then
  say "building etcd $ETCD_VERSION"
  mkdir -p "$TOOLS/src/etcd"
  cd "$TOOLS/src/etcd"
  module . "go.etcd.io/etcd/server/v3 v$ETCD_VERSION" go.etcd.io/etcd/server/v3
  tidy
  build "" go.etcd.io/etcd/server/v3
  mv "$TOOLS/bin/v3" "$TOOLS/bin/etcd" 2>/dev/null || mv "$TOOLS/bin/server" "$TOOLS/bin/etcd"
fi
if [ ! -x "$TOOLS/bin/coredns" ]; then
  say "building CoreDNS $COREDNS_VERSION"
  mkdir -p "$TOOLS/src/coredns"
  cd "$TOOLS/src/coredns"
  module . "github.com/coredns/coredns v$COREDNS_VERSION"
  sed 's/^module .*/module example.invalid\/coredns/' -i go.mod
  cp "$scripts/dns.go" main.go
  tidy
  build "" .
fi
if [ ! -x "$TOOLS/root/usr/bin/containerd" ]; then
  command -v apt-get >/dev/null || fail "containerd, runc and CNI plugins come from Debian's packages: apt-get is missing"
  cd "$TOOLS/debs"
  apt-get download containerd runc containernetworking-plugins conntrack nftables libnftables1 libnftnl11 libxtables12 \
    libjansson4 libmnl0 libseccomp2 libedit2 libbsd0 libmd0 libnetfilter-conntrack3 libnfnetlink0 >>"$log" 2>&1 ||
    fail "apt-get download failed (apt-get update?): see $log"
  for package in *.deb; do dpkg-deb -x "$package" "$TOOLS/root"; done
fi
if [ ! -s "$TOOLS/images/coredns.tar" ]; then
  command -v gcc >/dev/null || fail "gcc is missing"
  gcc -Os -static -s -o "$TOOLS/bin/pause" "$scripts/pause.c"
  "$scripts/../image/pack" "$TOOLS/images/pause.tar" localhost/pause:1 "$TOOLS/bin/pause" >>"$log"
  "$scripts/../image/pack" "$TOOLS/images/coredns.tar" localhost/coredns:1 "$TOOLS/bin/coredns" >>"$log"
fi
echo "$TOOLS"
