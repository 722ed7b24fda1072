// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <cstddef>
#include <cstdint>

namespace semcache::policy {

/// How the elements of a View lie in memory: element (i0, i1, ..) lies `i0 * strides[0] + i1 * strides[1] + ..` elements behind the
/// first one.
struct SEMCACHE_API ViewShape {
  static constexpr std::int32_t unknown_rank = -1;
  static constexpr std::size_t most_dimensions = 8;

  std::int32_t rank = unknown_rank;  ///< 0 to 8; `unknown_rank`: extents and strides are not known
  std::uint64_t extents[most_dimensions] = {};  ///< in elements; entries from `rank` on are 0
  std::uint64_t strides[most_dimensions] = {};  ///< in elements; entries from `rank` on are 0

  /// Returns how many elements lie from the first to the last one, those between them that are not the View's included. 0 if an extent
  /// is 0; the largest number if the result is larger than that. The rank is known.
  [[nodiscard]] std::uint64_t span() const noexcept;
};

/// A View that a kernel has captured, and its array.
struct CapturedView {
  const char* label;            ///< of the array
  const void* array;            ///< address of the array's first byte: tells arrays of one label apart; host code does not follow it
  std::uint64_t array_bytes;
  std::uint64_t offset_bytes;   ///< from the array's first byte to the View's first element
  std::uint64_t element_bytes;  ///< 0: not known, because it is a bare pointer that leads to the array; the offset is 0 then
  bool writable;                ///< false: the kernel only reads by this View
  ViewShape shape;
};

/// A launch whose kernel is about to be launched.
struct ObservedLaunch {
  const char* kernel;         ///< the functor's type, as std::type_info::name() spells it (see runtime::kernel_name)
  std::uint32_t device;       ///< number of the process's device on which the kernel runs
  const CapturedView* views;  ///< one for each captured View, in no particular order; two of them may be of one array
  std::size_t count;
  /// The kernel uses no arrays beside those of `views`. False: a pointer leads elsewhere, or an array holds views or pointers, so the
  /// kernel may use, and write, any array.
  bool complete;
};

/// What is told of each launch (runtime::observe_launches): for a policy that splits kernels, names layouts or
/// fetches ahead. Lifetime: the runtime shares it until it is replaced, and the destructor runs after the last call.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  /// Called by the launching thread once per launch, before anything is done for it: no lock is held, and the arrays are as the program
  /// left them. So it may use arrays; launches that it makes itself are not told of. Several threads may call it at once.
  /// @param launch  valid during the call, with all that it points to; labels are valid as long as the runtime runs
  /// If it throws, the kernel is not launched, nothing has changed, and Kokkos' pattern throws the exception.
  virtual void observe(const ObservedLaunch& launch) = 0;

 protected:
  LaunchObserver() = default;
  LaunchObserver(const LaunchObserver&) = default;
  LaunchObserver& operator=(const LaunchObserver&) = default;
};

}  // namespace semcache::policy
