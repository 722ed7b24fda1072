// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/engine/lifetimes.hpp>
#include <semcache/engine/shapes.hpp>

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace semcache::engine {

/// A value that a pure function makes of the content of arrays, and that stays in device memory for calls that ask for it again. It is
/// found by the function, its parameters, and the values of its inputs, wherever these lie. Its fields belong to `Derivations`.
struct Derivation {
  using Extents = base::Vector<directory::ExtentMap::Extent>;
  struct Input {
    Known array;
    Region where;
    Extents values;  ///< what the array wanted there
    std::unique_ptr<directory::Watch> watch;  ///< of these values, so that no write can keep their numbers
    std::uint64_t changes = 0;  ///< `Directory::changes` of the array at that time
  };
  std::string function;
  std::vector<std::byte> parameters;
  std::vector<Input> inputs;
  std::unique_ptr<directory::Watch> watch;  ///< of the value itself, so that a user who writes it changes its number
  std::uint64_t changes = 0;                ///< `Directory::changes` of the value itself when it was computed
  base::Vector<Memory*> places;  ///< its memory, at most once on each device
  std::uint32_t users = 0;
  bool computed = false;  ///< others may find it
};

/// Keeps derived values. While somebody uses one, it is an ordinary value: if its memory is evicted, it is saved. A value that nobody uses
/// is *spare*: its memory is the first to be evicted, and its content is then forgotten instead of saved, unless it is dear: it takes longer to
/// compute it than to bring it to the host and back (`policy::leaves_as`). A dear value is treated as an array's.
///
/// Threads: any.
class Derivations : Parts {
 public:
  explicit Derivations(const Parts& parts) noexcept : Parts(parts) {}

  struct Use {
    Derivation* derivation = nullptr;
    Memory* memory = nullptr;  ///< where it is, or is to be computed: an operand of launches, found by no address
    bool computed = false;     ///< the content is there; otherwise the caller computes it
  };
  /// Finds a value, or makes memory for it. The caller uses it until `release`.
  /// @param function  identifies the function; @param parameters  what else its result depends on
  /// @param inputs  parts of arrays; the caller must not free the arrays meanwhile
  /// @param bytes  of the result
  /// @throws UsageError  an input has been freed, or the size is not that of the value that was found
  /// @throws OutOfMemory, std::bad_alloc  nothing has changed
  Use acquire(const std::string& function, const std::vector<std::byte>& parameters, const std::vector<Requirement>& inputs, std::uint64_t bytes,
              std::uint32_t device);
  /// Lets others find a value when the launch that computes it, which overwrites its memory, has ended (`Launches::end_launch`; its kernel
  /// may still be under way). If an input has changed since `acquire`, or another thread has computed the value meanwhile, only the caller
  /// goes on to use this one.
  /// @param seconds_to_make  about so long it takes to compute the value
  /// @throws UsageError  the launch has not ended, or the seconds are negative, infinite or NaN
  void note_computed(Derivation& derivation, double seconds_to_make = 0);
  /// Ends a use.
  void release(Derivation& derivation) noexcept;
  /// Frees the spare values that are derived from the array, which is about to be freed. No lock where there are no derived values.
  void leave(const Memory& array) noexcept;
  /// Returns how many bytes of device memory spare values have. Threads: with the engine's lock.
  [[nodiscard]] std::uint64_t spare_bytes() const noexcept;

 private:
  using List = std::list<Derivation>;
  [[nodiscard]] bool holds_now(const Derivation& derivation) const;
  [[nodiscard]] bool is_lost(const Derivation& derivation) const;
  [[nodiscard]] bool is_dear(const Derivation& derivation) const;
  void note_values(Derivation::Input& input) const;
  [[nodiscard]] Derivation* find(const Derivation& wanted) noexcept;
  [[nodiscard]] Use use(Derivation& derivation, Memory& memory) noexcept;
  void end_use(Derivation& derivation) noexcept;
  void set_spare(Derivation& derivation, bool spare) noexcept;
  /// Drops the spare values that are lost, or of which an input has changed.
  void drop_useless() noexcept;
  template <class IsUseless>
  void drop_if(const IsUseless& is_useless) noexcept;
  template <class Step>
  Obstacle for_sides(const Derivation& derivation, const Step& step);
  Obstacle watch(Derivation& derivation);
  [[nodiscard]] bool are_noticed(const Derivation& derivation) const;

  List all_;
  std::atomic<bool> any_{false};  ///< something is, or has been, in the list
};

}  // namespace semcache::engine
