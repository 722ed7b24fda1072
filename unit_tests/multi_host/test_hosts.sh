#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# test_hosts.sh COUNT COMMAND...: called by on_test_hosts.sh in namespaces of its own. Makes the hosts test-host-0,
# test-host-1 ..., each with a name, a network interface on a common bridge, and shared memory of its own; processes and
# files are common. Runs the command on the first; Open MPI finds its way to the others.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
count=$1
shift

ip link add switch type bridge
ip link set switch up
for ((i = 0; i < count; ++i)); do
  # A process keeps the host; it tells its number when the namespaces are there.
  exec {told}< <(exec unshare --net --uts --ipc --mount sh -c "
    hostname test-host-$i && mount -t tmpfs none /dev/shm && echo \$\$ && exec sleep infinity")
  read -r keeper <&"$told"
  export "test_host_$i=$keeper"
  ip link add port$i type veth peer name eth0 netns "$keeper"
  ip link set port$i master switch up
  nsenter --target "$keeper" --net sh -c "
    ip addr add 10.0.0.$((i + 1))/24 dev eth0 && ip link set eth0 up && ip link set lo up"
done

# Open MPI's own files and sockets, too, are each host's.
export TMPDIR=/dev/shm OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$here/remote_shell.sh
"$here/remote_shell.sh" test-host-0 "$(printf '%q ' "$@")"
