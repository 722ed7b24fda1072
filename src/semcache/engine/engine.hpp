// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/engine/copies.hpp>
#include <semcache/engine/foreign_io.hpp>
#include <semcache/engine/foreign_uses.hpp>

/// Carries out what the directory asks for: in order, asynchronously, traced.
namespace semcache::engine {

/// The parts of the engine, put together. What callers use of them they reach by the parts' names.
///
/// Threads: every public member, also of public parts, any thread, but for those that take a transaction or return an obstacle.
/// Members take the lock themselves; none waits for a transfer while it holds it. Errors: strong guarantee (I9) as far as content
/// is concerned: evictions made on the way stay made.
class Engine : base::Uncopied {
  State s_;
  const Parts parts_{s_, projection_, executor_, hazards_, arrays_, transfers_, buffers_, residency_, preparation_, transactions_,
                     expected_, lifetimes, launches, host_access};
  Projection projection_{parts_};
  Executor executor_{parts_};
  Hazards hazards_{parts_};
  Arrays arrays_{parts_};
  Transfers transfers_{parts_};
  Buffers buffers_{parts_};  // what is idle is given back before the devices go
  Residency residency_{parts_};
  Preparation preparation_{parts_};
  Transactions transactions_{parts_};
  ExpectedMessages expected_{parts_};

 public:
  Lifetimes lifetimes{parts_};
  Launches launches{parts_};
  HostAccess host_access{parts_};
  Copies copies{parts_};
  ForeignIo foreign_io{parts_};
  ForeignUses foreign_uses{parts_};

  Engine(std::vector<std::unique_ptr<device::Device>> devices, std::unique_ptr<platform::Platform> platform,
         trace::Recorder& recorder, const Options& options);
  ~Engine();

  /// Whose array is it, and where is memory of ours? No lock, but for what is guarded by it.
  [[nodiscard]] const State& state() const noexcept { return s_; }

  /// An announced use.
  void access(Memory& memory, ByteRange range, Access mode) {
    if (range.empty()) return;
    return memory.on_host() ? host_access.access(memory, range, mode) : foreign_uses.access(memory, range, mode);
  }

  // --- queues ------------------------------------------------------------------------------------------------------
  /// @param leased  `retire_queue` must be called once more before the queue is given up
  QueueIndex adopt_queue(std::uint32_t device, void* native, std::shared_ptr<void> owner, bool leased = false);
  void retire_queue(std::uint32_t device, QueueIndex queue) noexcept;
  /// See `Queues::others_are_told_of`: told by `others_submit`. Called before the first queue is adopted.
  void others_are_told_of(bool told) noexcept;
  /// Somebody else is about to call the driver: who waits for our launches so far does not wait for what comes behind this call.
  /// @param fenced  the call is a fence of this stream, and separates the launches of this one alone
  void others_submit(std::optional<void*> fenced) noexcept;
  /// Is there anything for `others_submit` to do? No lock.
  [[nodiscard]] bool any_unrecorded() const noexcept {
    return std::any_of(s_.devices.begin(), s_.devices.end(), [](const auto& d) { return d->queues->any_unrecorded(); });
  }

  void add_to(Statistics& statistics) const;
  /// The directory and every page state agree with each other (tests, audit). Ends the process if not.
  void audit();
  /// Is there an array, or another thread in a call?
  [[nodiscard]] bool is_used() const;
};

}  // namespace semcache::engine
