#!/usr/bin/env bash
# sandbox.sh NAME COMMAND...: runs a command as process 1 of namespaces of its own (mounts, network, processes,
# names, cgroups), in cgroups below those of the caller. Nothing outside changes, and its end ends everything
# inside. NETNS=PATH joins a network namespace instead of making one.
set -euo pipefail
. "$(dirname "$0")/settings.sh"
name=$1
shift
mkdir -p "$STATE/$name"
: >"$STATE/$name/cgroups"
for hierarchy in $CGROUPS; do
  own=$(awk -F: -v name="$hierarchy" '
    { n = split($2, all, ","); for (i = 1; i <= n; i++) if (all[i] == name || all[i] == "name=" name) print $3 }
  ' /proc/self/cgroup)
  group=/sys/fs/cgroup/$hierarchy${own%/}/karst-$name
  mkdir -p "$group"
  echo "$group" >>"$STATE/$name/cgroups"
  if [ "$hierarchy" = cpuset ]; then
    for file in cpus mems; do cat "$(dirname "$group")/cpuset.$file" >"$group/cpuset.$file"; done
    echo 1 >"$group/cgroup.clone_children"
  fi
  echo $$ >"$group/cgroup.procs"
done
network=--net enter=()
if [ -n "${NETNS:-}" ]; then
  network='' enter=(nsenter "--net=$NETNS")
  unset NETNS
fi
exec "${enter[@]}" unshare --mount $network --pid --fork --uts --ipc --cgroup --propagation private --kill-child \
  "$here/inside.sh" "$name" "$@"
