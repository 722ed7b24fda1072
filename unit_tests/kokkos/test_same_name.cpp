// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "same_name.hpp"

#include <kokkos/support.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace {

using test::Since;

same_name::Launch* load(const char* library) {
  // Local, as interpreters load their extensions: functions stay apart, but not the static members of templates. Global, as
  // libraries that a program is linked with: of exported functions of one name there is one.
  const bool global = std::getenv("SAME_NAME_GLOBAL") != nullptr;
  void* const handle = ::dlopen(library, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
  EXPECT_NE(handle, nullptr) << ::dlerror();
  return handle == nullptr ? nullptr : reinterpret_cast<same_name::Launch*>(::dlsym(handle, "same_name_launch"));
}

}  // namespace

/// What one functor captured says nothing about the other: a raw pointer is noticed though a view was remembered there.
KOKKOS_TEST(KokkosSameName, FunctorsOfTwoLibrariesAreRememberedApart) {
  const bool inlined = KOKKOS_VERSION < 40000 && std::strcmp(semcache::kokkos::NativeExec::name(), "Serial") == 0;
  if (std::getenv("SAME_NAME_GLOBAL") != nullptr && !inlined)
    GTEST_SKIP() << "Kokkos' own functions between a library's launch and its functor are not inlined here: of exported "
                    "ones of one name there is one, with SemCache or without";
  same_name::Launch* const add_views = load(SAME_NAME_VIEWS);
  same_name::Launch* const step_pointer = load(SAME_NAME_POINTER);
  ASSERT_TRUE(add_views != nullptr && step_pointer != nullptr);
  constexpr int n = 4096;
  constexpr std::uint64_t bytes = n * sizeof(double);
  const test::Vector x("x", n), y("y", n);
  const auto x_host = Kokkos::create_mirror_view(x);
  const auto y_host = Kokkos::create_mirror_view(y);
  test::iota(y, 0, 1);  // a launch of the program's own: so it holds all that the libraries need
  double sum = n - 1;
  for (int round = 1; round <= 4; ++round) {
    for (int i = 0; i < n; ++i) x_host(i) = 10 * round;
    sum += 10 * round;
    const Since since;
    Kokkos::deep_copy(x, x_host);
    add_views(x, y);
    step_pointer(x, y);
    Kokkos::deep_copy(x_host, x);
    Kokkos::deep_copy(y_host, y);
    semcache::access(x_host, semcache::Access::read);
    semcache::access(y_host, semcache::Access::read);

    EXPECT_EQ(x_host(n - 1), 10 * round + 1);
    EXPECT_EQ(y_host(n - 1), sum);
    EXPECT_EQ(since.h2d(), bytes);
    EXPECT_EQ(since.d2h(), 2 * bytes);
    EXPECT_EQ(since.launches(), 2u);
    EXPECT_EQ(since.unknown(), 0u) << test::unknown_names();
  }
}
