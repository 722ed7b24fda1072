// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <kokkos/support.hpp>

#include <Kokkos_DualView.hpp>

/// Programs in which every single modify and sync can be left out or turned to the wrong side: the public bugs of
/// DualView users, made on purpose.
namespace test {

enum class Mutation { none, remove_all, remove_one, turn_one };

/// Kokkos::DualView aborts where a modify meets changes of the other side that were never synced: an option before 5.0.
struct KokkosAborts {};
#if defined(KOKKOS_ENABLE_DEBUG_DUALVIEW_MODIFY_CHECK) || KOKKOS_VERSION >= 50000
inline constexpr bool kokkos_aborts_conflicts = true;
#else
inline constexpr bool kokkos_aborts_conflicts = false;
#endif

/// Carries out a program's annotations, except the mutated ones. Calls are numbered in program order; a call in a loop
/// is one call.
class Annotations {
 public:
  Annotations(Mutation mutation, int victim, bool stock) : mutation_(mutation), victim_(victim), stock_(stock) {}

  /// @throws KokkosAborts  instead of the abort, on a stock DualView.
  template <class Dual>
  void modify_host(int call, Dual& dv) {
    apply(call, [&] { host_changed(dv); }, [&] { device_changed(dv); });
  }
  /// @throws KokkosAborts  as modify_host
  template <class Dual>
  void modify_device(int call, Dual& dv) {
    apply(call, [&] { device_changed(dv); }, [&] { host_changed(dv); });
  }
  template <class Dual>
  void sync_host(int call, Dual& dv) {
    apply(call, [&] { dv.sync_host(); }, [&] { dv.sync_device(); });
  }
  template <class Dual>
  void sync_device(int call, Dual& dv) {
    apply(call, [&] { dv.sync_device(); }, [&] { dv.sync_host(); });
  }

 private:
  template <class Dual>
  void host_changed(Dual& dv) {
    if (stock_ && kokkos_aborts_conflicts && dv.need_sync_host()) throw KokkosAborts();
    dv.modify_host();
  }
  template <class Dual>
  void device_changed(Dual& dv) {
    if (stock_ && kokkos_aborts_conflicts && dv.need_sync_device()) throw KokkosAborts();
    dv.modify_device();
  }
  template <class Right, class Wrong>
  void apply(int call, const Right& right, const Wrong& wrong) {
    const bool mutated = call == victim_;
    if (mutation_ == Mutation::remove_all || (mutation_ == Mutation::remove_one && mutated)) return;
    if (mutation_ == Mutation::turn_one && mutated)
      wrong();
    else
      right();
  }

  Mutation mutation_;
  int victim_;
  bool stock_;
};

using Result = std::vector<double>;

/// @param calls number of annotations in the program
/// Ours: every mutant's result is bit-identical with the original's, with no more bytes over the link.
/// Stock: of each kind of mutation at least one changes the result. Those that Kokkos aborts are left at that point.
template <class Program>
void check_mutants(int calls, const Program& program) {
  const auto run = [&](auto ours, Mutation mutation, int victim, std::uint64_t& link) {
    const Since since;
    Annotations annotations(mutation, victim, !ours);
    Result result = program(ours, annotations);
    link = since.link();
    return result;
  };
  std::uint64_t ours_link = 0, link = 0;
  const Result expected = run(std::true_type(), Mutation::none, -1, ours_link);
  EXPECT_EQ(run(std::false_type(), Mutation::none, -1, link), expected) << "the unmutated program itself is right";

  for (const Mutation mutation : {Mutation::remove_all, Mutation::remove_one, Mutation::turn_one}) {
    const int victims = mutation == Mutation::remove_all ? 1 : calls;
    int differing = 0;
    for (int victim = 0; victim < victims; ++victim) {
      EXPECT_EQ(run(std::true_type(), mutation, victim, link), expected) << int(mutation) << " call " << victim;
      EXPECT_LE(link, ours_link) << int(mutation) << " call " << victim;
      try {
        differing += run(std::false_type(), mutation, victim, link) != expected;
      } catch (const KokkosAborts&) {
      }
    }
    EXPECT_GE(differing, 1) << int(mutation) << ": the program does not need its annotations: it proves nothing";
  }
}

template <class Tag, class DataType>
using DualOf = std::conditional_t<Tag::value, semcache::DualView<DataType, Left, Device>,
                                  Kokkos::DualView<DataType, Left, Device>>;

}  // namespace test
