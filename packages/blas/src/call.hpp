// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "operand.hpp"
#include "pieces.hpp"
#include "report.hpp"

#include <semcache/runtime/runtime.hpp>

/// What all routines share: a wrapper describes its call, and this layer decides where it runs, and brings the operands there.
namespace semcache::blas {

/// A call, as its wrapper understands it. The operands that are written come last.
struct Call {
  Routine* routine = nullptr;
  double operations = 0;
  std::size_t count = 0;
  std::array<const void*, most_operands> at{};  ///< the program's addresses
  Operands operands;                            ///< those that the call does not read are empty
  Cut cut;                                      ///< how it can be computed in pieces
  Verdict refused = Verdict::on_device;  ///< what the wrapper has found already: wrong_arguments, nothing_to_compute, too_large, no_routine
};

/// The two ways to compute a call. Both are given the addresses of the operands, in the order of `Call::operands`, and leave all else as the
/// program has passed it.
class Routines {
 public:
  /// Calls the routine of the library that the caller is linked to: with the program's addresses, or with those of emulated devices.
  virtual void on_host(const void* const* at) const = 0;
  /// Calls the device's routine.
  virtual void on_gpu(const runtime::Stream& stream, const void* const* at) const = 0;
  /// Computes on an emulated device, whose addresses are the host's.
  virtual void on_emulated(const runtime::Stream&, const void* const* at) const { on_host(at); }
  /// From now on these are the routines of a piece of the call; nullptr: of the whole call again. Only calls that can be cut have pieces.
  virtual void take(const Piece*) const {}

 protected:
  ~Routines() = default;
};

/// Carries out the call, on the device or on the host, and counts it. Never throws: where the device fails, the host computes.
void carry_out(const Call& call, const Routines& routines);

/// Returns whether this thread is in a routine that `carry_out` has called. A BLAS call from there is a part of that routine, and is passed on.
[[nodiscard]] bool is_within_call() noexcept;
/// Around a routine that is always passed on: it is counted, and the calls that it makes itself are not.
void enter_passed_through(Routine& routine, Verdict why) noexcept;
void leave_passed_through() noexcept;
/// The same for a routine that this library calls for itself: it is not counted.
void enter_routine() noexcept;
/// The same for a call that is too small for any device. @return false if it is not, or devices are to compute all calls
[[nodiscard]] bool enter_small(Routine& routine, double operations, double bytes) noexcept;

}  // namespace semcache::blas
