#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# test_packages.sh FOLDER: makes a bare Debian 12 with this machine's apt sources, installs the packages in FOLDER there, builds the programs of the
# installed documentation and the examples against them, compares what they print with what the pages say, makes a report's page, and removes the
# packages again. `./dev package` calls it. As root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$1

sources=()
for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
  [ ! -s "$file" ] || sources+=("$file")
done
[ ${#sources[@]} -gt 0 ] || { echo "test_packages.sh: found no sources of Debian in /etc/apt to install a bare system from" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/packages"
cp -r "$folder"/*.deb examples unit_tests/consume/page.py "$work/packages/"
cat >"$work/packages/inside.sh" <<'INSIDE'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
cd /packages
apt-get update -q
apt-get install -y -q --no-install-recommends ./*.deb
ldconfig -p | grep "libsemcache\.so\.0"
# The library alone is enough to run a program; what building needs besides is named by libsemcache-dev's recommendations and the README.
apt-get install -y -q --no-install-recommends g++ cmake make pkg-config python3 libtrilinos-kokkos-dev libopenmpi-dev openmpi-bin
pages=/usr/share/doc/semcache-doc/html/docs
python3 page.py extract $pages/tutorial/heat.html tutorial
cmake -S tutorial -B tutorial/build -DCMAKE_BUILD_TYPE=Release
cmake --build tutorial/build
python3 page.py check $pages/tutorial/heat.html tutorial
python3 page.py extract $pages/how-to/adopt-memory.html adopted
python3 page.py check $pages/how-to/adopt-memory.html adopted

cmake -S examples -B examples/build -DCMAKE_BUILD_TYPE=Release
cmake --build examples/build
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_rmaps_base_oversubscribe=1
ctest --test-dir examples/build --output-on-failure

# semcache-report says what it lacks, and works with what the package recommends.
SEMCACHE_REPORT=report.json SEMCACHE_TRACE=timeline.json tutorial/build/heat_const
status=0
semcache-report report.json timeline.json 2>said || status=$?
[ $status = 3 ] && grep "apt-get install python3 python3-jinja2 libjs-d3" said || { echo "semcache-report without Jinja2: status $status" >&2; cat said >&2; exit 1; }
# shellcheck disable=SC2046  # a list of words
apt-get install -y -q --no-install-recommends $(dpkg-query -W -f '${Recommends}' semcache-tools | tr -d ,)
semcache-report report.json timeline.json --source tutorial
grep -q "198.0 MiB avoided" semcache-report.html
ls /usr/share/man/man7/semcache.7.gz /usr/share/bash-completion/completions/semcache-report $pages/index.html
apt-get purge -y -q 'libsemcache*' 'semcache-*'
left=$(find /usr -name '*semcache*' || true)
[ -z "$left" ] || { echo "left behind after the removal: $left" >&2; exit 1; }
echo "packages: installed, the documentation's programs built and run, removed"
INSIDE
# mmdebstrap mounts a /proc that is read-only, in which SemCache cannot open its own memory, so another one is mounted above it.
cat >"$work/hook.sh" <<'HOOK'
mount -t proc proc "$1/proc"
trap 'umount "$1/proc"' EXIT
chroot "$1" bash /packages/inside.sh
HOOK
mmdebstrap --quiet --variant=apt --customize-hook="copy-in $work/packages /" --customize-hook="bash -e $work/hook.sh \"\$1\"" \
  bookworm /dev/null "${sources[@]}"
