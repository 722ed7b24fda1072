// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "allocations.hpp"
#include "digest.hpp"
#include "launches.hpp"
#include "names.hpp"
#include "spaces.hpp"

#include <semcache/trace/detail/call_stack.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace semcache::advisor {

struct Tally {
  std::uint64_t bytes = 0, count = 0;
  double seconds = 0;
  void add(std::uint64_t more_bytes, double more_seconds) noexcept {
    bytes += more_bytes;
    ++count;
    seconds += more_seconds;
  }
  Tally& operator+=(const Tally& o) noexcept {
    bytes += o.bytes;
    count += o.count;
    seconds += o.seconds;
    return *this;
  }
};

enum class Direction : std::uint8_t { h2d, d2h, d2d, h2h, other };

struct Side {
  Memory memory = Memory::other;
  const void* address = nullptr;
  std::uint32_t label = 0;
};

/// What a call of deep_copy is, as far as its announcement tells.
enum class Kind : std::uint8_t {
  copy,
  fill,     ///< of a view with one value
  scalar,   ///< of a view of one element into a variable
  itself,   ///< of a view onto itself: its mirror shares its memory, as in a build for the host, and on a GPU there would be two
  nothing,  ///< of no bytes, or with a null pointer
};

/// How Kokkos carried it out.
enum class Way : std::uint8_t {
  bytes,    ///< all bytes of a range, in one piece
  kernels,  ///< by kernels, element by element: the sides have gaps, or differ in layout
};

struct Copy {
  Kind kind = Kind::copy;
  Way way = Way::bytes;
  Side to, from;
  std::uint64_t bytes = 0;
  std::optional<Digest> to_before, from_before, to_after;  ///< empty: not examined. `to_after` is taken only of Way::kernels
  trace::detail::CallStack site;
  double seconds = 0;
};

/// The copies that one statement of the program made between arrays of the same names.
struct Statement {
  std::uint32_t to = 0, from = 0, site = 0;
  Direction direction = Direction::other;
  Tally copies;
  Tally redundant;    ///< the destination had the content
  Tally fresh;        ///< so it had, in memory that no copy had used yet: from the view's initialisation, by a kernel, or by chance
  Tally round_trips;  ///< the content had come from the destination, with an earlier copy, and was unchanged
  Tally restored;     ///< the part of `round_trips` whose destination had changed meanwhile
  Tally unused;       ///< overwritten or freed before any kernel or copy of Kokkos ran that could have used it
  Tally shared;       ///< of a view onto itself, which move nothing; in no other tally but the next
  Tally shared_same;  ///< the part of `shared` whose content had not changed since the previous one of the same view
  Tally not_examined;
  std::vector<std::uint32_t> kernels;    ///< names of launches before redundant copies (shared_same, too), since the previous one
  std::uint64_t launches_between = 0;    ///< their number
};

/// Keeps what the program did with its arrays and copies, and finds the copies that it could do without. Reads no memory and takes
/// no lock. Its memory is bounded, but for an entry for each live allocation.
class Ledger {
 public:
  void allocated(std::uintptr_t address, std::uint64_t bytes, std::string_view label);
  void freed(std::uintptr_t address);
  void launched(std::string_view kernel);

  /// Returns the number of a label; an empty one is replaced by that of the allocation.
  [[nodiscard]] std::uint32_t label_of(std::string_view label, const void* address);
  /// Is the address in an allocation that Kokkos has announced?
  [[nodiscard]] bool allocation_has(const void* address);
  void copied(const Copy& copy);

  // --- for the report ---
  [[nodiscard]] const std::vector<Statement>& statements() const noexcept { return statements_; }
  [[nodiscard]] std::string label(std::uint32_t number) const { return labels_.text_of(number); }
  [[nodiscard]] std::string kernel(std::uint32_t number) const { return kernels_.text_of(number); }
  /// Slow: reads symbol tables.
  [[nodiscard]] std::string site(std::uint32_t number) const;
  [[nodiscard]] const Tally& fills() const noexcept { return fills_; }
  [[nodiscard]] const Tally& scalars() const noexcept { return scalars_; }
  [[nodiscard]] std::uint64_t empty_copies() const noexcept { return empty_copies_; }
  [[nodiscard]] std::uint64_t launches() const noexcept { return launches_.count(); }
  [[nodiscard]] std::uint64_t histories_dropped() const noexcept { return histories_dropped_; }

 private:
  static constexpr std::size_t most_labels = 16384, most_kernels = 4096, most_sites = 16384, most_statements = 65536;
  static constexpr std::size_t most_pairs = 65536, kernels_shown = 8;
  static constexpr std::uint32_t other_sites = UINT32_MAX;

  /// The latest copy between two places.
  struct Last {
    Place to;
    std::uint64_t bytes = 0, launches = 0;
    std::optional<Digest> content;  ///< of the destination, afterwards
  };

  std::uint32_t site_of(const trace::detail::CallStack& stack);
  Statement& statement_of(const Copy& copy);
  void end_of_unused(Allocation& allocation);
  void copied_onto_itself(const Copy& copy);
  /// Returns the latest copy between two places, which the caller changes.
  Last& last_between(Place to, Place from);
  enum class Changed : std::uint8_t { no, perhaps };
  /// Finds out whether the copy changed its destination, and whether it brought back what had come from there.
  Changed examine(const Copy& copy, Statement& s, const Allocations::Found& to, const Allocations::Found& from);

  Allocations allocations_;
  Launches launches_;
  Names labels_{most_labels, "(other labels)"}, kernels_{most_kernels, "(other kernels)"};
  std::unordered_map<trace::detail::CallStack, std::uint32_t, trace::detail::HashOfCallStack> sites_;
  std::vector<trace::detail::CallStack> stacks_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Direction>, std::uint32_t> statement_numbers_;
  std::vector<Statement> statements_;
  std::map<std::pair<Place, Place>, Last> pairs_;
  Tally fills_, scalars_;
  std::uint64_t empty_copies_ = 0, histories_dropped_ = 0;
};

}  // namespace semcache::advisor
