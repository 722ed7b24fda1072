// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/engine/adoption.hpp>
#include <semcache/engine/copies.hpp>
#include <semcache/engine/derivations.hpp>
#include <semcache/engine/foreign_io.hpp>
#include <semcache/engine/foreign_uses.hpp>
#include <semcache/engine/host_uses.hpp>
#include <semcache/engine/tiles.hpp>

/// Carries out accesses to arrays: the transfers that the directory asks for are made in order, asynchronously, and counted.
namespace semcache::engine {

/// The parts of the engine, put together. Callers reach the public parts by name.
///
/// Threads: any thread may call each public member, also of the public parts, except members that take a transaction or return an
/// obstacle. Members take the lock themselves, and none waits for a transfer while it has the lock. Errors: the strong guarantee
/// (I9) holds as far as content is concerned; evictions made on the way stay made.
class Engine : base::Uncopied {
  State s_;
  const Parts parts_{s_, projection_, executor_, hazards_, arrays_, transfers_, buffers, residency_, preparation_, dual_views_, transactions_,
                     shapes_, expected_, lifetimes, launches, host_uses, host_access};
  Projection projection_{parts_};
  Executor executor_{parts_};
  Hazards hazards_{parts_};
  Arrays arrays_{parts_};
  Transfers transfers_{parts_};

 public:
  Buffers buffers{parts_};  // destroyed before `s_`: idle buffers are given back while their devices exist

 private:
  Residency residency_{parts_};
  Preparation preparation_{parts_};
  DualViews dual_views_{parts_};
  Transactions transactions_{parts_};
  Shapes shapes_{parts_};
  ExpectedMessages expected_{parts_};

 public:
  Lifetimes lifetimes{parts_};
  Derivations derivations{parts_};
  Tiles tiles{parts_};
  Launches launches{parts_};
  HostUses host_uses{parts_};
  HostAccess host_access{parts_};
  Adoption adoption{parts_};
  Copies copies{parts_};
  ForeignIo foreign_io{parts_};
  ForeignUses foreign_uses{parts_};

  Engine(std::vector<std::unique_ptr<device::Device>> devices, std::unique_ptr<platform::Platform> platform,
         trace::Recorder& recorder, const Options& options);
  ~Engine();

  /// Returns the state, in which callers find arrays by address. Takes no lock; members that are guarded by it need it.
  [[nodiscard]] const State& state() const noexcept { return s_; }

  /// Serves an announced use.
  void access(Memory& memory, const Region& where, Access mode) {
    if (where.empty()) return;
    if (memory.on_host()) return host_access.access(memory, where, mode);
    foreign_uses.access(memory, where, mode);
  }

  /// Returns which bytes of the memory an access would have to bring, and from where. Moves nothing.
  [[nodiscard]] Missing missing(Memory& memory, const Region& where) const {
    const Look look(transactions_);
    s_.expect_not_freed(Kept(memory));
    return transfers_.missing(memory, where);
  }

  /// Returns where content of these bytes of an array is on devices. Content on several devices is listed for each. Moves nothing.
  [[nodiscard]] std::vector<Holder> holders(Memory& memory, const Region& where) const {
    const Look look(transactions_);
    s_.expect_not_freed(Kept(memory));
    return transfers_.holders(memory, where);
  }

  // --- queues ------------------------------------------------------------------------------------------------------
  enum class Lease : std::uint8_t { none, one_more };
  /// Returns the index of a native stream of the program, whose work the device carries out.
  /// @param lease  `one_more`: the queue gets a lease, which `retire_queue` ends
  QueueIndex adopt_queue(std::uint32_t device, void* native, std::shared_ptr<void> owner, Lease lease = Lease::none);
  /// Returns the index of a stream of the device on which tasks of library calls are carried out. Each launch there is ordered behind all work
  /// that uses the same bytes, and all later work behind it. `owner` is kept until the engine ends. Returns `unknown_queue` if there are too many.
  QueueIndex adopt_lane(std::uint32_t device, void* native, std::shared_ptr<void> owner);
  /// Leaves a lease to the queue's stream, as `Queues::leave_lease` does. @return false: the lease stays the caller's
  [[nodiscard]] bool leave_lease(QueueIndex queue) noexcept;
  /// Ends a lease of the queue; behind the last one the queue is given up.
  void retire_queue(QueueIndex queue) noexcept;
  /// Sets whether `others_submit` will be called (see `Queues::set_others_are_told`). To be called before the first queue is
  /// adopted.
  void set_others_are_told(bool told) noexcept;
  /// To be called before other code calls the driver. A thread that waits for one of our launches so far will then not have to
  /// wait for work that is submitted by this call or later.
  /// @param fenced  the call is a fence of this stream, and separates the launches on this stream alone
  void others_submit(std::optional<void*> fenced) noexcept;
  /// Returns the queue of a native stream to which other code submits a launch (`ForeignStream`), and adopts it if it is new. Returns
  /// `unknown_queue` where that fails, for streams of no device of the process, and if there are too many.
  QueueIndex queue_of_others(void* native) noexcept;
  /// To be called before the program destroys a stream (`Queues::stream_ends`). @return whether it had a queue
  bool stream_ends(void* native) noexcept;
  /// Is there anything for `others_submit` to do? No lock.
  [[nodiscard]] bool any_unrecorded() const noexcept { return s_.queues->any_unrecorded(); }

  /// Adds the engine's figures.
  void add_to(Statistics& statistics) const;
  /// Checks that directory, flags, page states and counts agree with each other (tests, audit). Ends the process if they do not.
  void audit();
  /// Is there an array, or a transaction that has given up the lock and will take it again? If not, the engine may be destroyed by a
  /// caller that knows of no thread at the beginning of a transaction or between two of them, because such a thread is not counted.
  [[nodiscard]] bool is_used() const;

 private:
  QueueIndex adopt(std::uint32_t device, void* native, std::shared_ptr<void> owner, Queues::Submitter submitter);
  bool order_behind_engine(QueueIndex queue) noexcept;
};

}  // namespace semcache::engine
