// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos.hpp>

/// Two libraries that know nothing of each other, and a program that loads both. Each has a kernel whose functor is
/// called same_name::Kernel, and launches it in same_name_launch.
namespace same_name {

using Vector = Kokkos::View<double*, Kokkos::LayoutLeft, semcache::Device>;
using Range = Kokkos::RangePolicy<semcache::Exec>;
using Launch = void(const Vector& x, const Vector& y);

}  // namespace same_name

extern "C" same_name::Launch same_name_launch;
