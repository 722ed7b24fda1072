// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/preparation.hpp>

#include <vector>

namespace semcache::engine {

/// SEMCACHE_CHECK: finds a `sync` that a program has probably forgotten. A stock Kokkos::DualView is two arrays, of which nobody can see that
/// they belong together, unless the program announces it (`pair`). What is found is a suspicion: the host wrote its side, a kernel then used
/// the device's, which had other content, and nothing took what the host had written before it was overwritten or freed. A program may want that.
///
/// Threads: with the engine's lock. Cost without pairs, so always without SEMCACHE_CHECK: one comparison for each call.
class DualViews : Parts {
 public:
  explicit DualViews(const Parts& parts) noexcept : Parts(parts) {}

  /// Notes that the two arrays are the sides of a DualView, and have the same content.
  void pair(Memory& device, Memory& host);
  /// To be called when a write by the host is noticed.
  void note_host_write(const Memory& host) noexcept;
  /// To be called at each copy between these. @param to, from  nullptr: untracked memory
  void note_copy(const Memory* to, const Memory* from) noexcept;
  /// To be called when the operands of a launch are ready.
  /// @return no obstacle when they were looked at; otherwise the first obstacle
  Obstacle look_at(const Operand* operands, std::size_t count);
  /// To be called before an array is freed. Says what is suspected of it.
  void leave(const Memory& memory) noexcept;

 private:
  struct Pair {
    enum class State : std::uint8_t { same, host_is_newer, used_without_sync };
    Memory* device;
    Memory* host;
    State state = State::same;
    trace::Place written{};  ///< by the host, first since the last copy
    trace::Place used{};     ///< by a kernel
  };
  [[nodiscard]] bool differ(Memory& device, Memory& host);
  void tell(Pair& pair) noexcept;

  std::vector<Pair> pairs_;
};

}  // namespace semcache::engine
