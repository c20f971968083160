#!/usr/bin/env bash
# certificates.sh DIR: a CA for one run, certificates of the components, and their kubeconfig files.
set -euo pipefail
. "$(dirname "$0")/settings.sh"
mkdir -p "$1"
cd "$1"
log=$PWD/openssl.log

ssl() { openssl "$@" 2>>"$log" || { tail -3 "$log" >&2; exit 1; }; }
key() { ssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

# certificate FILE COMMON-NAME ORGANIZATION [ALTERNATIVE-NAMES]
certificate() {
  key "$1"
  printf 'extendedKeyUsage=serverAuth,clientAuth\n%s\n' "${4:+subjectAltName=$4}" >"$1.ext"
  ssl req -new -key "$1.key" -subj "/O=$3/CN=$2" -out "$1.csr"
  ssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile "$1.ext" -out "$1.crt"
}

kubeconfig() {
  cat >"$1.conf" <<YAML
apiVersion: v1
kind: Config
clusters:
- name: test
  cluster: {server: "https://$MACHINES.1:6443", certificate-authority: "$PWD/ca.crt"}
users:
- name: user
  user: {client-certificate: "$PWD/$1.crt", client-key: "$PWD/$1.key"}
contexts:
- name: test
  context: {cluster: test, user: user}
current-context: test
YAML
}

key ca
ssl req -x509 -new -key ca.key -days 30 -subj /CN=karst-test-ca -out ca.crt
names=IP:127.0.0.1,IP:$MACHINES.1,IP:$SERVICES.1,DNS:kubernetes,DNS:kubernetes.default
certificate apiserver kube-apiserver kubernetes "$names,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
client() { certificate "$1" "$2" "$3"; kubeconfig "$1"; }
client admin admin system:masters
client controllers system:kube-controller-manager system:kube-controller-manager
client scheduler system:kube-scheduler system:kube-scheduler
client proxy system:kube-proxy system:node-proxier
for node in $(seq "$NODES"); do client "node$node" "system:node:node$node" system:nodes; done
ssl genrsa -out accounts.key 2048
ssl rsa -in accounts.key -pubout -out accounts.pub
