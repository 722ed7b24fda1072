// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/kokkos/relations.hpp>

#include <atomic>
#include <string>

namespace semcache::kokkos::detail {
namespace {

std::atomic<int> running_kernels{0};

}  // namespace

void count_kernels(int change) noexcept { running_kernels.fetch_add(change, std::memory_order_relaxed); }

void abort_outside_kernels(const char* label) noexcept {
  if (running_kernels.load(std::memory_order_relaxed) > 0) return;
  std::string message = "Kokkos::View ERROR: attempt to access inaccessible memory space";
  if (*label) message = message + " (label=\"" + label + "\")";
  Kokkos::abort(message.c_str());
}

}  // namespace semcache::kokkos::detail
