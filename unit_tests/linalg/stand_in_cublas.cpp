// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <set>

/// Stands in for cuBLAS: it knows which handles there are, and a routine with another one fails. Handles are not reused.
namespace {

std::set<void*>& handles() {
  static std::set<void*> all;
  return all;
}
char places[64];
int made = 0;

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int cublasCreate_v2(void** handle) {
  *handle = &places[made++];
  handles().insert(*handle);
  return 0;
}
[[gnu::visibility("default")]] int cublasDestroy_v2(void* handle) { return handles().erase(handle) == 1 ? 0 : 1; }
[[gnu::visibility("default")]] int cublasSetStream_v2(void* handle, void*) { return handles().count(handle) == 1 ? 0 : 1; }
[[gnu::visibility("default")]] int cublasDgemv_v2(void* handle) { return handles().count(handle) == 1 ? 0 : 7; }

}  // extern "C"
