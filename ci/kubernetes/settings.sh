# Settings of the test cluster, sourced by every script here. The environment overrides them.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export KUBERNETES_VERSION=1.35.4 ETCD_VERSION=3.6.5 COREDNS_VERSION=1.14.3
# Programs, built once by ci/tools/kubernetes.sh.
export TOOLS=${KARST_KUBERNETES_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/karst-tools/kubernetes-$KUBERNETES_VERSION}
# State of the running cluster; `down` removes it.
export STATE=${KARST_KUBERNETES_STATE:-${TMPDIR:-/tmp}/karst-kubernetes.$(id -u)}
export NODES=${KARST_KUBERNETES_NODES:-2}
# Addresses, which exist inside the cluster's network namespace only: the control plane has .1 of the first,
# node N .(10+N); pods of node N are in PODS.N.0/24; the DNS is .10 of the services.
export MACHINES=172.30.0 PODS=10.244 SERVICES=10.96.0
export CGROUPS="cpu cpuacct cpuset memory devices freezer blkio pids systemd"
export LD_LIBRARY_PATH=$TOOLS/root/usr/lib/x86_64-linux-gnu:$TOOLS/root/lib/x86_64-linux-gnu
export PATH=$TOOLS/bin:$TOOLS/root/usr/sbin:$TOOLS/root/usr/bin:$PATH
