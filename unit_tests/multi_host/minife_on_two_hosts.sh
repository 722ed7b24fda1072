#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# minife_on_two_hosts.sh MPIEXEC CMAKE MINIFE REPORTS ARGUMENT...: four ranks on one host and on two get the same
# numbers. The reports are REPORTS_one_host.json and REPORTS_two_hosts.json.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mpiexec=$1 cmake=$2 minife=$3 reports=$4
shift 4

places=$("$mpiexec" --host test-host-0:2,test-host-1:2 -n 4 hostname | sort | uniq -c | tr -s ' \n' ' ')
if [[ $places != " 2 test-host-0 2 test-host-1 " ]]; then
  echo "the ranks are at the wrong places:$places"
  exit 1
fi

# solve HOSTS REPORT ARGUMENT...
solve() {
  local hosts=$1 report=$2
  shift 2
  rm -f "$report"
  "$mpiexec" --mca btl tcp,vader,self --host "$hosts" -n 4 \
    "$minife" --nx 40 --ny 40 --nz 40 --variant semcache --report "$report" "$@"
}
solve test-host-0:4 "${reports}_one_host.json" "$@"
solve test-host-0:2,test-host-1:2 "${reports}_two_hosts.json" "$@"
"$cmake" -D "ONE_HOST=${reports}_one_host.json" -D "TWO_HOSTS=${reports}_two_hosts.json" -P "$here/same_numbers.cmake"
