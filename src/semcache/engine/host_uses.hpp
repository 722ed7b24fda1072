// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/launches.hpp>
#include <semcache/engine/preparation.hpp>
#include <semcache/engine/shapes.hpp>

namespace semcache::engine {

/// Uses of parts on the host (`Lifetimes::allocate_host_part`) by the host's processor. Such a use is to the host what a launch is to a
/// device, except that it ends when the work does. It counts as done when it begins: what it writes is from then on the array's content,
/// which only the part holds. So an access that conflicts with it (writes what it uses, or reads what it writes) waits for its end, and is
/// refused to the thread that has the use under way. Threads: any.
class HostUses : Parts {
 public:
  explicit HostUses(const Parts& parts) noexcept : Parts(parts) {}

  /// Brings the content of the parts, waits for the transfers, saves what others want of bytes that will be written, and keeps the parts as
  /// they are until `end`.
  /// @param uses  of whole parts (`Memory::positions`)
  /// @throws UsageError  a part, or its array, has been freed; a memory is no part on the host; bytes are used in two parts and written in
  ///                     one of them; or this thread has a use or a launch under way that conflicts
  /// @throws OutOfMemory, std::bad_alloc, DeviceError, SystemError  the content of parts that were to be overwritten may be lost where there
  ///                     are several of them; otherwise nothing has changed (I9)
  void begin(const Requirement* uses, std::size_t count);
  /// Ends the use. Parts that were freed meanwhile are freed now.
  void end(const Requirement* uses, std::size_t count) noexcept;

 private:
  void expect_usable(const Requirement* uses, std::size_t count) const;
  Obstacle prepare(const Requirement* uses, std::size_t count);
  /// Makes the mirrors of what was written fresh (`Protocol::write_through`).
  void write_through(Transaction& transaction, const Requirement* uses, std::size_t count) noexcept;
};

}  // namespace semcache::engine
