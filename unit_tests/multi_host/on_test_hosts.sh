#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# on_test_hosts.sh MPIEXEC COUNT COMMAND...: runs a command on the first of several hosts (test_hosts.sh).
#
# Everything is in namespaces without a name that live as long as their processes, which end with this one, however it
# ends: nothing is left, and the machine's own network is not touched. Exits with 77 where that is not permitted.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mpiexec=$1
shift

skip() {
  printf '%s: Skipped\n%s\n' "$0" "$*"
  exit 77
}

PATH=$PATH:/usr/sbin:/sbin
for tool in unshare nsenter ip; do
  command -v $tool >/dev/null || skip "there is no program $tool (packages util-linux and iproute2)"
done
[[ $("$mpiexec" --version) =~ "Open MPI"|OpenRTE ]] || skip "$mpiexec is not Open MPI's"

separate=(unshare --net --uts --ipc --mount --pid --mount-proc --fork --kill-child)
((EUID == 0)) || separate+=(--map-root-user)
try="mount -t tmpfs none /dev/shm && hostname test &&
  ip link add eth0 type veth peer name port0 && ip link add switch type bridge"
refusal=$("${separate[@]}" sh -c "$try" 2>&1) || skip "namespaces for test hosts are not permitted: $refusal"

exec "${separate[@]}" "$here/test_hosts.sh" "$@"
