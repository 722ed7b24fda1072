// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos.hpp>

#include <KokkosCompat_ClassicNodeAPI_Wrapper.hpp>

#include <string>

namespace semcache {

/// The last template argument of Tpetra's classes. Their kernels run on semcache::Exec, their arrays are in semcache::Space.
using TpetraNode = Kokkos::Compat::KokkosDeviceWrapperNode<Exec, Space>;

}  // namespace semcache

namespace Kokkos {
namespace Compat {
template <>
SEMCACHE_API std::string KokkosDeviceWrapperNode<semcache::Exec, semcache::Space>::name();
}  // namespace Compat
}  // namespace Kokkos
