// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/runtime/runtime.hpp>

#include <vector>

/// In the place of packages/linalg/src/cublas.hpp: calls of cuBLAS are computed by the host's BLAS (host_as_cublas.cpp).
namespace semcache::linalg {

/// An argument of cuBLAS: a size or a code, or an address.
struct Argument {
  Argument(int n) noexcept : number(n) {}                       // NOLINT(google-explicit-constructor)
  Argument(const void* a) noexcept : is_address(true), at(a) {}  // NOLINT(google-explicit-constructor)
  bool is_address = false;
  int number = 0;
  const void* at = nullptr;
};

class CublasRoutine {
 public:
  explicit constexpr CublasRoutine(const char* name) noexcept : name_(name) {}
  template <class... Arguments>
  void operator()(const runtime::Stream&, Arguments... arguments) const {
    compute(name_, {Argument(arguments)...});
  }

 private:
  static void compute(const char* name, const std::vector<Argument>& arguments);
  const char* name_;
};

}  // namespace semcache::linalg
