// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/tpetra.hpp>

namespace Kokkos {
namespace Compat {

template <>
std::string KokkosDeviceWrapperNode<semcache::Exec, semcache::Space>::name() {
  return "SemCache/Wrapper";
}

}  // namespace Compat
}  // namespace Kokkos
