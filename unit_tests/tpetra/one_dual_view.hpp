// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos.hpp>

#include <Kokkos_DualView.hpp>

/// A part of a program that knows Kokkos and nothing of Tpetra.
namespace one_dual_view {

/// 4 at 3, written by the host.
Kokkos::DualView<double*, semcache::Device> make(int n);
std::size_t size();

}  // namespace one_dual_view
