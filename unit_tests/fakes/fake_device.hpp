// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <fakes/failing_memory.hpp>
#include <fakes/random.hpp>
#include <fakes/page_bytes.hpp>
#include <semcache/device/device.hpp>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace semcache::fakes {

/// A device that carries out its work late, in any order that its queues and events permit, and that finds races. Two operations
/// race if they touch the same bytes, at least one of them writes, and nothing orders them. The device reports the race when the
/// second operation is submitted, whether or not it does harm this time (vector clocks).
///
/// Threads: any. Kernels and the failure callback run under the device's lock and must not call the device.
class FakeDevice final : public device::Device {
 public:
  struct Options {
    std::uint64_t seed = 1;
    device::DeviceKind kind = device::DeviceKind::cuda;
    bool asynchronous = true;   ///< false: work is carried out when it is submitted
    bool registers_host = true;
    unsigned eagerness = 20;    ///< percent of submissions after which some queue carries out work
    std::uint64_t granularity_bytes = std::max<std::uint64_t>(16 * 1024, page_bytes());
    std::uint64_t memory_bytes = std::uint64_t{1} << 30;
    std::uint64_t arena_bytes = std::uint64_t{128} << 20;
    bool finds_races = true;
  };
  using Failure = std::function<void(const std::string&)>;

  /// The calls that a test can make fail: all whose interfaces permit it. Members of Device that are noexcept cannot fail.
  enum Call : unsigned {
    call_start = 1,          ///< calls while an engine is made: reserve, open_queue, sizes of memory
    call_map = 2,            ///< this and the next two fail with OutOfMemory
    call_allocate = 4,
    call_staging = 8,
    call_copy = 16,
    call_fill = 32,
    call_adopt = 64,
    call_record = 128,
    call_wait = 256,
    call_ask = 512,          ///< complete
    call_synchronize = 1024, ///< with an event, a queue or the device
    call_digest = 2048,
    call_register = 4096,    ///< refused, without an exception
    call_platform = 8192,    ///< the platform's copies past a protection, and its reserving of addresses
    call_all = 16383
  };

  FakeDevice(const Options& options, Failure fail);
  ~FakeDevice() override;

  [[nodiscard]] device::DeviceKind kind() const noexcept override { return options_.kind; }
  [[nodiscard]] std::string name() const override { return "fake"; }
  [[nodiscard]] int ordinal() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t total_memory_bytes() const override;
  [[nodiscard]] std::uint64_t free_memory_bytes() const override;
  [[nodiscard]] std::uint64_t granularity_bytes() const noexcept override { return options_.granularity_bytes; }
  [[nodiscard]] std::byte* reserve(std::uint64_t& bytes) override;
  void release(std::byte* base, std::uint64_t bytes) noexcept override;
  void map(std::byte* address, std::uint64_t bytes) override;
  void unmap(std::byte* address, std::uint64_t bytes) noexcept override;
  void set_accessible(std::byte* address, std::uint64_t bytes, bool accessible) noexcept override;

  [[nodiscard]] QueueId open_queue() override;
  [[nodiscard]] QueueId adopt_queue(void* native, std::shared_ptr<void> owner) override;
  void close_queue(QueueId queue) noexcept override;
  [[nodiscard]] device::EventId record(QueueId queue) override;
  void wait(QueueId queue, device::EventId event) override;
  [[nodiscard]] bool complete(device::EventId event) override;
  void synchronize(device::EventId event) override;
  void release(device::EventId event) noexcept override;
  void synchronize_queue(QueueId queue) override;
  [[nodiscard]] bool queue_idle(QueueId queue) override;
  void synchronize_device() override;

  void copy_to_device(QueueId queue, std::byte* device, const std::byte* host, std::uint64_t bytes) override;
  void copy_from_device(QueueId queue, std::byte* host, const std::byte* device, std::uint64_t bytes) override;
  void copy_within_device(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes) override;
  /// One operation, as a GPU's.
  void copy_columns(QueueId queue, Direction direction, std::byte* to, std::uint64_t to_pitch, const std::byte* from,
                    std::uint64_t from_pitch, std::uint64_t width, std::uint64_t columns) override;
  void fill(QueueId queue, std::byte* to, std::uint64_t bytes, const std::byte* pattern,
            std::uint32_t pattern_bytes) override;
  [[nodiscard]] std::uint64_t digest(QueueId queue, const std::byte* device, std::uint64_t bytes) override;
  [[nodiscard]] std::byte* allocate(std::uint64_t bytes) override;
  void deallocate(std::byte* address) noexcept override;
  [[nodiscard]] std::byte* allocate_staging(std::uint64_t bytes) override;
  void deallocate_staging(std::byte* address) noexcept override;
  [[nodiscard]] bool register_host(std::byte* address, std::uint64_t bytes) noexcept override;
  void unregister_host(std::byte* address) noexcept override;
  [[nodiscard]] bool is_foreign_device_pointer(const void* pointer) const noexcept override;

  // --- for the test that plays the program ---------------------------------------------------------------------------
  struct Touch {
    const std::byte* begin;
    std::uint64_t bytes;
    bool writes;
  };
  /// Returns the program's stream, which is made on first use, whether or not the engine has adopted it.
  [[nodiscard]] QueueId stream(void* native);
  /// Submits a kernel to a stream; `body` runs late.
  void launch(void* native, std::vector<Touch> touches, std::function<void()> body);
  /// Returns the streams with kernels for which the program itself must wait before a kernel on `native` may touch `touches`.
  [[nodiscard]] std::vector<void*> unordered_kernels(void* native, const std::vector<Touch>& touches);
  /// Makes later work on `later` wait for the work submitted to `earlier` so far, as a program does.
  void order_streams(void* later, void* earlier);
  void synchronize_stream(void* native);
  /// Permits that memory of `allocate` (of messages) stays allocated: if waiting for a message fails, the device may still read
  /// it.
  bool may_leak = false;
  /// `queue_idle` answers; false: asking would cost no less than waiting, so it returns false.
  bool tells_idle = false;
  /// Makes some queue carry out one or several operations.
  void tick();
  /// Reports a failure if the host touches bytes that an operation uses which the host does not know to be done.
  void check_host_access(const std::byte* begin, std::uint64_t bytes, bool writes);
  /// Sets for which host memory copies require page-locking, because its pages may be protected.
  void require_page_locks(std::function<bool(const std::byte*)> where) { needs_page_lock_ = std::move(where); }
  /// Reports a failure if bytes of an emulated device's memory are inaccessible now.
  void check_accessible(const std::byte* begin, std::uint64_t bytes);
  /// Called for each use of the device's memory, with (address, bytes, writes); returns whether the pages permit it.
  std::function<bool(const std::byte*, std::uint64_t, bool)> permits;
  /// Makes the k-th (from 1) of the calls in `mask` fail, once; 0: no call fails.
  void fail_call(std::uint64_t k, unsigned mask) {
    fail_in_ = k;
    fail_mask_ = mask;
  }
  [[nodiscard]] bool failure_pending() const { return fail_in_ != 0; }
  /// Counts a call, also one of the fake platform. @throws the error of a failing `call`, if this call is the one that must fail
  void may_fail(Call call, const char* what) const;
  [[nodiscard]] std::uint64_t mapped_bytes() const { return mapped_count_ * options_.granularity_bytes; }
  /// Return the bytes that `allocate` and `allocate_staging` have given and not got back.
  [[nodiscard]] std::uint64_t allocated_bytes() const { return sum(allocations_); }
  [[nodiscard]] std::uint64_t staging_bytes() const { return sum(staging_); }
  [[nodiscard]] std::uint64_t operations() const { return submitted_; }
  [[nodiscard]] std::size_t host_registrations() const { return registered_.size(); }
  /// Moves of another thread, made once, while a thread waits for the device.
  std::function<void()> meanwhile;
  /// Sets moves of another thread, made once, while the driver is in such a call, which takes long: `call_map`, `call_allocate`,
  /// `call_staging` or `call_register` (at its end).
  void while_in(Call call, std::function<void()> moves) { while_in_ = {call, std::move(moves)}; }
  void do_meanwhile() {
    if (meanwhile == nullptr) return;
    const std::function<void()> moves = std::exchange(meanwhile, nullptr);
    moves();
  }
  struct Copied {
    std::uint64_t to_device = 0, from_device = 0, within = 0;
  };
  Copied copied;  ///< bytes submitted
  std::uint64_t questions = 0;  ///< how often the host asked whether work is done, or waited for it

 private:
  enum class Kind : std::uint8_t { to_device, from_device, within, fill, digest, kernel, record, wait };
  using Clock = std::vector<std::uint64_t>;
  struct Operation {
    Kind kind;
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t columns = 1;
    std::uint64_t to_pitch = 0;
    std::uint64_t from_pitch = 0;
    std::byte pattern[16] = {};
    std::uint32_t pattern_bytes = 0;
    device::EventId event = 0;
    std::vector<Touch> touches;
    std::function<void()> body;
  };
  struct Queue {
    std::deque<Operation> pending;
    std::uint64_t submitted = 0;
    std::uint64_t executed = 0;
    Clock clock;  ///< the operations after which later operations of this queue are ordered
    bool open = false;
    bool program = false;
    void* native = nullptr;
    std::shared_ptr<void> owner;
  };
  struct Event {
    std::size_t queue = 0;
    Clock clock;
    bool complete = false;
    bool released = false;
  };
  /// An operation that the host does not know to be done.
  struct Unsettled {
    std::size_t queue;
    std::uint64_t number;
    bool kernel;
    const char* what;
    std::vector<Touch> touches;
  };
  struct Lock {
    explicit Lock(std::recursive_mutex& mutex) : guard(mutex) {}
    std::lock_guard<std::recursive_mutex> guard;
    FailuresPaused paused;
  };

  static const char* text(Kind kind) noexcept;
  static std::uint64_t sum(const std::map<std::byte*, std::uint64_t>& sizes) {
    std::uint64_t total = 0;
    for (const auto& [address, bytes] : sizes) total += bytes;
    return total;
  }
  std::size_t add_queue(void* native, bool program);
  void submit(std::size_t queue, Operation operation);
  void execute(std::size_t queue);
  void run_queue(std::size_t queue, std::uint64_t until);
  void run_until(device::EventId event);
  void some_progress();
  void observe(const Clock& clock);
  /// Returns whether this call is the one that must fail.
  [[nodiscard]] bool fails(Call call) const;
  void settle_queue(std::size_t queue);
  [[nodiscard]] bool usable(const std::byte* p, std::uint64_t bytes) const;
  [[nodiscard]] bool in_arena(const std::byte* p) const { return base_ != nullptr && p >= base_ && p < base_ + bytes_; }
  static void join(Clock& into, const Clock& from);
  static bool conflict(const Touch& a, const Touch& b) {
    return (a.writes || b.writes) && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
  }
  void expect_no_pending(const std::byte* begin, std::uint64_t bytes, const char* what);
  void expect_page_locked(const std::byte* host, std::uint64_t bytes);

  Options options_;
  Failure fail_;
  mutable std::recursive_mutex mutex_;
  Random random_;
  void* mapping_ = nullptr;
  std::uint64_t mapping_bytes_ = 0;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<char> mapped_;  // per granule
  std::vector<char> closed_;  // per granule: mapped, but inaccessible
  std::map<std::uint64_t, std::uint64_t> maps_;
  std::uint64_t mapped_count_ = 0;
  std::vector<Queue> queues_;
  std::map<device::EventId, Event> events_;
  device::EventId next_event_ = 1;
  std::vector<Unsettled> unsettled_;
  Clock host_;  ///< per queue, the operations that the host knows to be done
  std::map<std::byte*, std::uint64_t> allocations_;
  std::map<std::byte*, std::uint64_t> staging_;
  std::map<std::byte*, std::uint64_t> registered_;
  std::function<bool(const std::byte*)> needs_page_lock_;
  void arrived_in(Call call) {
    if (while_in_.first == call) std::exchange(while_in_, {}).second();
  }
  std::pair<unsigned, std::function<void()>> while_in_;
  mutable std::uint64_t fail_in_ = 0;
  unsigned fail_mask_ = 0;
  std::uint64_t submitted_ = 0;
};

}  // namespace semcache::fakes
