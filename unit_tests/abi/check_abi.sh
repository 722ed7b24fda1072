#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# check_abi.sh same CLONE SCRATCH       compares the binary interface of semcache.h with packaging/abi/semcache.abi
# check_abi.sh mutations CLONE SCRATCH  shows that the comparison finds a changed type, a changed value and a function that is gone
# check_abi.sh record CLONE SCRATCH     records the interface as it is
set -euo pipefail
action=$1 clone=$2 scratch=$3
rm -rf "$scratch"
mkdir -p "$scratch"
record=$clone/packaging/abi/semcache.abi
printf '{ global: semcache_*; local: *; };\n' >"$scratch/exported"

# The source of the C interface alone, as a library whose other symbols are looked for by nobody. $1: a root with src/; $2: the library
compile() {
  (cd "$1" && "${CXX:-c++}" -std=c++17 -w -g -O1 -fPIC -fvisibility=hidden -Isrc "-ffile-prefix-map=$1=." -shared -nostdlib \
    "-Wl,--version-script=$scratch/exported,-soname,libsemcache.so" src/semcache/runtime/c_api.cpp -o "$2")
}

compare() { abidiff --exported-interfaces-only --no-show-locs "$record" "$1"; }

case $action in
  same)
    compile "$clone" "$scratch/libsemcache.so"
    compare "$scratch/libsemcache.so" || {
      echo "The binary interface of semcache.h is not the recorded one (above). A function or a field at the end of semcache_statistics_t may be" \
        "added: record it by  unit_tests/abi/check_abi.sh record . /tmp/abi  . Everything else needs a new minor version, too." >&2
      exit 1
    }
    ;;
  mutations)
    compile_mutation() {  # $1: a name; $2: what sed does to the header; $3: to the source
      cp -r "$clone/src" "$scratch/src"
      sed -i -E "$2" "$scratch/src/semcache/semcache.h"
      sed -i -E "$3" "$scratch/src/semcache/runtime/c_api.cpp"
      compile "$scratch" "$scratch/$1.so"
      rm -r "$scratch/src"
      local result=0
      compare "$scratch/$1.so" >"$scratch/$1.txt" || result=$?
      if [ $((result & 7)) != 4 ]; then  # 4: the interfaces differ; 1, 2: abidiff failed
        echo "the comparison has not found: $1 (abidiff's status: $result)" >&2
        exit 1
      fi
      echo "found: $1"
    }
    compile_mutation changed_value 's/SEMCACHE_ERROR_INTERNAL = 6/SEMCACHE_ERROR_INTERNAL = 7/' ''
    compile_mutation changed_type 's/uint64_t bytes;/uint32_t bytes;/' ''
    compile_mutation function_gone 's/semcache_device_count\(/gone_device_count(/' 's/semcache_device_count\(/gone_device_count(/'
    ;;
  record)
    compile "$clone" "$scratch/libsemcache.so"
    # The licence stands behind the first line, because abidiff knows its files by that.
    abidw --exported-interfaces-only --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --drop-undefined-syms \
      "$scratch/libsemcache.so" |
      sed '1a <!-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->\n<!-- SPDX-FileCopyrightText: The SemCache contributors -->' >"$record"
    ;;
  *)
    echo "check_abi.sh: unknown action '$action': same, mutations or record" >&2
    exit 1
    ;;
esac
