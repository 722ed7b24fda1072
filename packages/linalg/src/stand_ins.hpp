// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "call.hpp"

#include <memory>
#include <vector>

namespace semcache::linalg {

class StandIn;

/// What a call does with an operand.
struct OperandUse {
  Matrix* matrix;
  Access mode;
  std::vector<Rectangle> parts = {};  ///< of the matrix, without overlaps: what the call uses; empty: all of it
};

/// Lets a call use operands in adopted memory that do not lie in its body as a whole (`runtime::adopt`). An operand that touches an edge, which is
/// ordinary memory, is replaced by a *stand-in*: the same bytes in a device array of the size of the adopted range, which is kept for later calls.
/// All other operands stay what they are.
///
/// The constructor gives the stand-ins what the call reads. Of the body nothing moves here, because these copies are lazy. Bytes of the edges move if
/// they are not those that the stand-in has. `write_back` gives the memory what the call has written: the body lazily, the edges at once, so it waits
/// for the kernels there. Both copy the bytes of the operand alone, so other bytes of the range may be used and written meanwhile.
///
/// Calls that use the same bytes at the same time, and of which one writes them, come one after the other: the constructor waits for the end of the
/// others' objects. Without `write_back` the memory keeps the content that it had.
/// Lifetime: a local variable of a call, one at a time on each thread, so that threads do not wait for each other.
class StandIns : base::Uncopied {
 public:
  /// @throws OutOfMemory, DeviceError, UsageError  nothing has changed
  explicit StandIns(const std::vector<OperandUse>& uses);
  ~StandIns();
  /// To be called when the tasks of the call have been submitted.
  /// @throws OutOfMemory, DeviceError  each byte of the memory has its former content or the new one
  void write_back();

  struct Use {
    std::shared_ptr<StandIn> stand_in;
    Region where;  ///< by addresses
    Access mode;
  };

 private:
  void leave() noexcept;
  std::vector<Use> uses_;
};

}  // namespace semcache::linalg
