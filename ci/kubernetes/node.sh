#!/usr/bin/env bash
# Process 1 of a node: containerd with the images, kubelet, kube-proxy. Every node is a zone of its own.
set -uo pipefail
. "$(dirname "$0")/settings.sh"
number=$1 name=node$1 pki=$STATE/pki logs=$STATE/log
socket=/run/containerd/containerd.sock
mkdir -p /run/cni/net.d /var/lib/kubelet/plugins
sed "s,@RUNC@,$(command -v runc),; s,@CNI@,$TOOLS/root/usr/lib/cni," "$here/containerd.toml" >/run/containerd.toml
cat >/run/cni/net.d/10-karst.conflist <<JSON
{"cniVersion": "0.4.0", "name": "karst", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true,
 "hairpinMode": true, "ipam": {"type": "host-local", "ranges": [[{"subnet": "$PODS.$number.0/24"}]],
 "routes": [{"dst": "0.0.0.0/0"}]}}]}
JSON
containerd -c /run/containerd.toml >"$logs/$name-containerd.log" 2>&1 &
until ctr -a $socket version >/dev/null 2>&1; do sleep 0.1; done
for image in "$TOOLS"/images/*.tar "$STATE"/images/*.tar; do
  [ -e "$image" ] && ctr -a $socket -n k8s.io image import "$image"
done
echo "nameserver 127.0.0.1" >/run/resolv.conf
cat >/run/kubelet.yaml <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "$pki/ca.crt"}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
clusterDNS: ["$SERVICES.10"]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://$socket
# The disk is that of the machine, whose fill level is no business of these tests.
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
imageGCHighThresholdPercent: 100
oomScoreAdj: 0
maxPods: 60
resolvConf: /run/resolv.conf
volumePluginDir: /var/lib/kubelet/plugins
YAML
until [ -e "$STATE/control-plane.up" ]; do sleep 0.2; done
kubelet --config=/run/kubelet.yaml --kubeconfig="$pki/$name.conf" --hostname-override="$name" \
  --node-ip="$MACHINES.$((10 + number))" --root-dir=/var/lib/kubelet --cert-dir=/var/lib/kubelet/pki \
  --node-labels="topology.kubernetes.io/zone=zone$number,topology.kubernetes.io/region=local" \
  >"$logs/$name-kubelet.log" 2>&1 &
cat >/run/proxy.yaml <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: "$PODS.0.0/16"
hostnameOverride: $name
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
clientConnection: {kubeconfig: "$pki/proxy.conf"}
YAML
kube-proxy --config=/run/proxy.yaml >"$logs/$name-proxy.log" 2>&1 &
while :; do wait -n 2>/dev/null || sleep 1; done
