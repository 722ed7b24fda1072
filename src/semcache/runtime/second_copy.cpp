// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/lifetime.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace semcache::runtime {
namespace {

constexpr const char* copy_marker = "_SEMCACHE_RUNTIME";

/// The value of `claimed` in a copy of the runtime that was started. It is the same in all versions.
constexpr std::uint64_t claim = 0x53656d4361636865;
/// The claim is in memory so that it ends with the program. The environment variable survives exec, in a process with the same
/// number.
std::atomic<std::uint64_t> claimed{0};

const char* file_of_this_copy() {
  Dl_info here{};
  return dladdr(reinterpret_cast<const void*>(&file_of_this_copy), &here) != 0 && here.dli_fname != nullptr ? here.dli_fname : "?";
}

/// Returns whether a started copy has its claim at `address`; false also if nothing is mapped there, because the variable may
/// have been set before an exec, or by another program.
bool holds_claim(std::uintptr_t address) {
  std::uint64_t word = 0;
  return platform::make_linux_platform()->read(reinterpret_cast<const void*>(address), &word, sizeof word) && word == claim;
}

}  // namespace

void refuse_second_copy() {
  if (claimed.load() == claim) return;
  if (const char* const other = std::getenv(copy_marker)) {
    long process = 0;
    unsigned long long address = 0;
    int file = 0;
    if (std::sscanf(other, "%ld:%llx:%n", &process, &address, &file) == 2 && file > 0 && process == ::getpid() &&
        holds_claim(static_cast<std::uintptr_t>(address))) {
      throw ConfigurationError(std::string("this process holds two copies of SemCache's runtime: one in ") + (other + file) +
                               " and one in " + file_of_this_copy() +
                               ". Link all of them to the shared library libsemcache.so.");
    }
  }
  char mine[64];
  std::snprintf(mine, sizeof mine, "%ld:%llx:", static_cast<long>(::getpid()),
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(&claimed)));
  ::setenv(copy_marker, (std::string(mine) + file_of_this_copy()).c_str(), 1);
  claimed.store(claim);
}

void stay_loaded() {
  (void)::dlopen(file_of_this_copy(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  (void)::dlerror();  // dlopen fails if the program itself holds this copy, which is no error
}

}  // namespace semcache::runtime
