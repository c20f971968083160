#!/usr/bin/env bash
# Process 1 of the outer sandbox: etcd, API server, controllers, scheduler; and the nodes in sandboxes below.
set -uo pipefail
. "$(dirname "$0")/settings.sh"
pki=$STATE/pki logs=$STATE/log
mkdir -p "$logs" /run/etcd /run/netns
ip link add karst0 type bridge
ip addr add "$MACHINES.1/24" dev karst0
ip link set karst0 up

run() {
  local name=$1
  shift
  "$@" >"$logs/$name.log" 2>&1 &
}
run etcd etcd --data-dir /run/etcd --unsafe-no-fsync --log-level error \
  --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
  --listen-peer-urls http://127.0.0.1:2380
run apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --profiling=false \
  --bind-address=0.0.0.0 --secure-port=6443 --advertise-address="$MACHINES.1" --allow-privileged=true \
  --service-cluster-ip-range="$SERVICES.0/24" --client-ca-file="$pki/ca.crt" \
  --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
  --kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key" \
  --kubelet-preferred-address-types=InternalIP --service-account-key-file="$pki/accounts.pub" \
  --service-account-issuer=https://kubernetes.default.svc.cluster.local \
  --service-account-signing-key-file="$pki/accounts.key" \
  --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction

for node in $(seq "$NODES"); do
  address=$MACHINES.$((10 + node))
  ip netns add "node$node"
  ip link add "port$node" type veth peer name eth0 netns "node$node"
  ip link set "port$node" master karst0 up
  ip -n "node$node" addr add "$address/24" dev eth0
  ip -n "node$node" link set eth0 up
  ip -n "node$node" route add default via "$MACHINES.1"
  ip route add "$PODS.$node.0/24" via "$address"
  for other in $(seq "$NODES"); do
    [ "$other" = "$node" ] || ip -n "node$node" route add "$PODS.$other.0/24" via "$MACHINES.$((10 + other))"
  done
  NETNS=/run/netns/node$node "$here/sandbox.sh" "node$node" "$here/node.sh" "$node" >"$logs/node$node.log" 2>&1 &
done
# Services are reached from here through the proxy of the first node.
ip route add "$SERVICES.0/24" via "$MACHINES.11"

export KUBECONFIG=$pki/admin.conf
until kubectl get --raw=/readyz >/dev/null 2>&1; do sleep 0.2; done
run controllers kube-controller-manager --kubeconfig="$pki/controllers.conf" --leader-elect=false --profiling=false \
  --service-account-private-key-file="$pki/accounts.key" --root-ca-file="$pki/ca.crt" \
  --use-service-account-credentials=true
run scheduler kube-scheduler --kubeconfig="$pki/scheduler.conf" --leader-elect=false --profiling=false
touch "$STATE/control-plane.up"
# As process 1, it reaps what ends.
while :; do wait -n 2>/dev/null || sleep 1; done
