#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# minife_on_two_hosts.sh MPIEXEC CMAKE MINIFE FOLDER: four ranks on one host and on two get the same numbers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mpiexec=$1 cmake=$2 minife=$3 folder=$4

places=$("$mpiexec" --host test-host-0:2,test-host-1:2 -n 4 hostname | sort | uniq -c | tr -s ' \n' ' ')
if [[ $places != " 2 test-host-0 2 test-host-1 " ]]; then
  echo "the ranks are at the wrong places:$places"
  exit 1
fi

# solve REPORT HOSTS
solve() {
  rm -f "$1"
  "$mpiexec" --mca btl tcp,vader,self --host "$2" -n 4 \
    "$minife" --nx 40 --ny 40 --nz 40 --variant semcache --report "$1"
}
solve "$folder/one_host.json" test-host-0:4
solve "$folder/two_hosts.json" test-host-0:2,test-host-1:2
"$cmake" -D "ONE_HOST=$folder/one_host.json" -D "TWO_HOSTS=$folder/two_hosts.json" -P "$here/same_numbers.cmake"
