#!/usr/bin/env bash
# Process 1 of a sandbox: its own /proc, /sys, /run, /var and cgroups, then the command.
set -euo pipefail
. "$(dirname "$0")/settings.sh"
name=$1
shift
hostname "$name"
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
for hierarchy in $CGROUPS; do
  mkdir "/sys/fs/cgroup/$hierarchy"
  option=$hierarchy
  [ "$hierarchy" = systemd ] && option=none,name=systemd
  mount -t cgroup -o "$option" cgroup "/sys/fs/cgroup/$hierarchy"
done
mkdir -p "$STATE/$name/var"/{lib,log,tmp}
mount --bind "$STATE/$name/var" /var
mount --make-rshared /var
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/lock
ln -s /run /var/run
# kubelet insists on these settings of the kernel, which are those of the whole machine: it gets files that look
# like them.
for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1 vm/panic_on_oom=0 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=$STATE/$name/$(basename "${setting%=*}")
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
exec "$@"
