// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <fakes/failing_memory.hpp>
#include <fakes/hook.hpp>
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

/// Devices that share one process. They carry out their work late, in any order that queues and events permit, and find races.
/// Two operations, of one device or of two, race if they touch the same bytes, at least one of them writes, and nothing orders them.
/// The race is reported when the second operation is submitted, whether or not it does harm this time (vector clocks).
///
/// Threads: any. Kernels and the failure callback run under the world's lock and must not call the devices.
class FakeWorld {
 public:
  struct Options {
    std::uint64_t seed = 1;
    device::DeviceKind kind = device::DeviceKind::cuda;
    bool asynchronous = true;   ///< false: work is carried out when it is submitted
    bool registers_host = true;
    unsigned eagerness = 20;    ///< percent of submissions after which some queue carries out work
    std::uint64_t page_bytes = fakes::page_bytes();  ///< what `set_accessible` opens and closes; a `Machine` has its platform's
    std::uint64_t granularity_bytes = std::max<std::uint64_t>(16 * 1024, fakes::page_bytes());
    std::uint64_t block_bytes = std::uint64_t{1} << 30;   ///< arrays of two of them or more are mapped and evicted by block
    std::uint64_t memory_bytes = std::uint64_t{1} << 30;  ///< of each device
    std::uint64_t arena_bytes = std::uint64_t{128} << 20;
    bool finds_races = true;
    bool peer_access = true;    ///< false: no device reaches another
  };
  using Failure = std::function<void(const std::string&)>;

  /// The calls that a test can make fail: all whose interfaces permit it. Members of Device that are noexcept cannot fail.
  enum Call : unsigned {
    call_start = 1,          ///< calls while an engine is made: reserve, share_with, open_queue, sizes of memory
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

  FakeWorld(const FakeWorld&) = delete;
  FakeWorld& operator=(const FakeWorld&) = delete;

  // --- for the test that plays the program ---------------------------------------------------------------------------
  struct Touch {
    const std::byte* begin;
    std::uint64_t bytes;
    bool writes;
  };
  /// A stream of the program. It belongs to the device that first adopts it, or that is first named with it. Until then it counts as
  /// the home device's. Each device has a null stream of its own; without a device, the home device's is meant.
  struct Stream {
    Stream(void* n, std::optional<std::uint32_t> d = {}) : native(n), device(d) {}  // NOLINT: converts
    void* native;
    std::optional<std::uint32_t> device;
    bool destroyed = false;  ///< the program has destroyed it, and can only wait for its device
  };
  /// Returns the program's stream, which is made on first use, whether or not the engine has adopted it.
  [[nodiscard]] QueueId stream(const Stream& s);
  /// The program destroys the stream. Its work goes on. The next stream of that handle is another one.
  void destroy_stream(const Stream& s);
  /// Returns the index of the device whose stream it is.
  [[nodiscard]] std::uint32_t device_of(const Stream& s) const;
  /// Submits a kernel to a stream; `body` runs late.
  void launch(const Stream& on, std::vector<Touch> touches, std::function<void()> body);
  /// Returns the streams with kernels for which the program itself must wait before a kernel on `on` may touch `touches`.
  [[nodiscard]] std::vector<Stream> unordered_kernels(const Stream& on, const std::vector<Touch>& touches);
  /// Makes later work on `later` wait for the work submitted to `earlier` so far, as a program does.
  void order_streams(const Stream& later, const Stream& earlier);
  void synchronize_stream(const Stream& s);
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
  /// Returns whether none of these bytes is closed (`Device::set_accessible`).
  [[nodiscard]] bool is_accessible(const std::byte* begin, std::uint64_t bytes);
  /// Reports a failure if bytes of an emulated device's memory are inaccessible now.
  void check_accessible(const std::byte* begin, std::uint64_t bytes);
  /// Called before each call of the driver's that takes long: mapping, and allocating, registering and giving back of memory.
  Hook<const char*> slow;
  /// Called when a device has mapped memory, with (address, bytes, closed).
  std::function<void(const std::byte*, std::uint64_t, bool)> when_mapped;
  /// Called for each use of the device's memory, with (address, bytes, writes); returns whether the pages permit it.
  std::function<bool(const std::byte*, std::uint64_t, bool)> permits;
  /// Makes the k-th (from 1) of the calls in `mask` fail, once; 0: no call fails. @param device  only its calls count
  void fail_call(std::uint64_t k, unsigned mask, std::optional<std::uint32_t> device = {}) {
    fail_in_ = k;
    fail_mask_ = mask;
    fail_device_ = device;
  }
  [[nodiscard]] bool failure_pending() const { return fail_in_ != 0; }
  mutable std::string failed;  ///< the call that has failed last because a test asked for it
  /// Counts a call, also one of the fake platform, which is no device's. @throws the error of a failing `call`, whose text names the
  ///   device, if this call is the one that must fail
  void may_fail(Call call, const char* what, std::optional<std::uint32_t> device = {}) const;
  /// Returns how many bytes all devices together have mapped.
  [[nodiscard]] std::uint64_t mapped_bytes() const { return sum(maps_); }
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
    std::uint64_t to_device = 0, from_device = 0, within = 0;  ///< bytes
    std::uint64_t calls_with_columns = 0;                      ///< that copy more than one
  };
  Copied copied;  ///< what has been submitted
  std::uint64_t questions = 0;  ///< how often the host asked whether work is done, or waited for it

 protected:
  FakeWorld(const Options& options, Failure fail);
  ~FakeWorld();

 private:
  friend class FakePeer;
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
    bool owned = false;  ///< the program's: it is certain whose stream it is
    bool destroyed = false;  ///< by the program: its work goes on, but nobody may name the stream any more
    std::uint32_t device = 0;
    void* native = nullptr;
    std::shared_ptr<void> owner;
  };
  struct Event {
    std::size_t queue = 0;
    std::uint32_t device = 0;
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
  struct Block {
    std::uint64_t bytes;
    std::uint32_t device;                    ///< behind whose addresses
    std::optional<std::uint32_t> counts_at;  ///< whose memory; nullopt: the host's
  };
  using Blocks = std::map<std::byte*, Block>;
  /// What the world keeps for each device.
  struct Part {
    bool told_of_others = false;
    std::vector<std::uint32_t> others;  ///< devices that may use this one's memory
    std::size_t idle_events = 0;        ///< events that need not be made
  };
  struct Lock {
    explicit Lock(std::recursive_mutex& mutex) : guard(mutex) {}
    std::lock_guard<std::recursive_mutex> guard;
    FailuresPaused paused;
  };

  static const char* text(Kind kind) noexcept;
  static std::uint64_t sum(const Blocks& blocks) {
    std::uint64_t total = 0;
    for (const auto& [address, block] : blocks) total += block.bytes;
    return total;
  }
  static std::string name_of(std::uint32_t device) { return "fake " + std::to_string(device); }
  /// Returns how much of the device's memory is neither mapped nor allocated.
  [[nodiscard]] std::uint64_t free_bytes(std::uint32_t device) const;
  /// @throws OutOfMemory
  void expect_free(std::uint32_t device, std::uint64_t bytes) const;
  /// Returns whether work of `device` may use memory of another device, `owner`.
  [[nodiscard]] bool may_use(std::uint32_t device, std::uint32_t owner) const;
  /// Reports a failure for each other device's memory that the operation uses although it may not.
  void expect_within_reach(std::uint32_t device, const Operation& op);
  std::size_t add_queue(std::uint32_t device, void* native, bool program);
  /// Returns the stream's place among the queues; their number if the stream is not known yet.
  [[nodiscard]] std::size_t find_stream(const Stream& s) const;
  device::EventId record_on(std::size_t queue);
  [[nodiscard]] std::size_t idle_events(std::uint32_t device) const;
  /// Makes the device's events until so many are idle. @return whether some were missing
  bool fill_idle_events(std::uint32_t device, std::size_t count);
  void wait_on(std::size_t queue, device::EventId event);
  void give_back(device::EventId event);
  void submit(std::size_t queue, Operation operation);
  void execute(std::size_t queue);
  void run_queue(std::size_t queue, std::uint64_t until);
  void run_until(device::EventId event);
  void some_progress();
  void observe(const Clock& clock);
  /// Returns whether this call is the one that must fail.
  [[nodiscard]] bool fails(Call call, const char* what, std::optional<std::uint32_t> device) const;
  void settle_queue(std::size_t queue);
  [[nodiscard]] bool usable(const std::byte* p, std::uint64_t bytes) const;
  [[nodiscard]] bool in_arena(const std::byte* p) const { return base_ != nullptr && p >= base_ && p < base_ + bytes_; }
  static void join(Clock& into, const Clock& from);
  static bool conflict(const Touch& a, const Touch& b) {
    return (a.writes || b.writes) && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
  }
  void expect_no_pending(const std::byte* begin, std::uint64_t bytes, const char* what);
  /// Notes that a copy from or to this memory of the host is submitted.
  void submits_copy(const std::byte* host) const;
  void expect_page_locked(const std::byte* host, std::uint64_t bytes);

  Options options_;
  Failure fail_;
  mutable std::recursive_mutex mutex_;
  std::vector<Part> parts_;  // per device
  Random random_;
  void* mapping_ = nullptr;
  std::uint64_t mapping_bytes_ = 0;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<char> mapped_;  // per granule
  std::vector<char> closed_;  // per page: mapped, but inaccessible
  Blocks maps_;
  std::vector<Queue> queues_;
  std::map<device::EventId, Event> events_;
  device::EventId next_event_ = 1;
  std::vector<Unsettled> unsettled_;
  Clock host_;  ///< per queue, the operations that the host knows to be done
  Blocks allocations_;
  Blocks staging_;
  std::map<std::byte*, std::uint64_t> registered_;
  std::function<bool(const std::byte*)> needs_page_lock_;
  void takes_long(const char* what) const { slow(what); }
  void arrived_in(Call call) {
    if (while_in_.first == call) std::exchange(while_in_, {}).second();
  }
  std::pair<unsigned, std::function<void()>> while_in_;
  mutable std::uint64_t fail_in_ = 0;
  unsigned fail_mask_ = 0;
  std::optional<std::uint32_t> fail_device_;
  std::uint64_t submitted_ = 0;
};

class FakeDevice;

/// One device of a world: it has memory, queues and streams of its own, and all addresses are the world's, which one device
/// reserves for all. The world must outlive every call, but not the object. Threads: any.
class FakePeer : public device::Device {
 public:
  /// Adds a device to the world of `home`.
  explicit FakePeer(FakeDevice& home);

  [[nodiscard]] device::DeviceKind kind() const noexcept override;
  [[nodiscard]] std::string name() const override { return FakeWorld::name_of(index_); }
  [[nodiscard]] int ordinal() const noexcept override { return static_cast<int>(index_); }
  [[nodiscard]] std::uint64_t total_memory_bytes() const override;
  [[nodiscard]] std::uint64_t free_memory_bytes() const override;
  [[nodiscard]] std::uint64_t granularity_bytes() const noexcept override;
  [[nodiscard]] std::uint64_t block_bytes() const noexcept override;
  [[nodiscard]] std::byte* reserve(std::uint64_t& bytes) override;
  void release(std::byte* base, std::uint64_t bytes) noexcept override;
  void map(std::byte* address, std::uint64_t bytes) override { map({this}, address, bytes, false); }
  void map_closed(std::byte* address, std::uint64_t bytes) override { map({this}, address, bytes, true); }
  void map_on(device::Location location, std::byte* address, std::uint64_t bytes) override { map(location, address, bytes, false); }
  void map_same(std::byte* /*address*/, std::byte* /*of*/, std::uint64_t /*bytes*/) override {
    world_.fail_("map_same: the engine does not call it");
  }
  void unmap(std::byte* address, std::uint64_t bytes) noexcept override;
  void set_accessible(std::byte* address, std::uint64_t bytes, bool accessible) noexcept override;

  void share_with(const std::vector<device::Device*>& others, PeerUse use) override;
  /// Returns whether the machine permits it. Work may use memory of `other` only if, besides, `other` was told of this device.
  [[nodiscard]] bool reaches(const device::Device& other) const noexcept override;
  /// Returns true, too, for a stream of which it is not certain yet whose it is.
  [[nodiscard]] bool owns_stream(void* native) const noexcept override;

  [[nodiscard]] QueueId open_queue() override;
  [[nodiscard]] QueueId adopt_queue(void* native, std::shared_ptr<void> owner) override;
  std::shared_ptr<void> close_queue(QueueId queue) noexcept override;
  [[nodiscard]] device::EventId record(QueueId queue) override;
  void keep_idle_events(std::size_t count) noexcept override;
  [[nodiscard]] bool lacks_events(std::size_t count) const noexcept override;
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
  [[nodiscard]] bool knows_host_memory(const void* pointer) const noexcept override { return pointer != nullptr && pointer == page_locked; }

  const void* page_locked = nullptr;  ///< an address of memory that the program has page-locked

 protected:
  explicit FakePeer(FakeWorld& world);

 private:
  using Lock = FakeWorld::Lock;
  using Kind = FakeWorld::Kind;
  void map(device::Location location, std::byte* address, std::uint64_t bytes, bool closed);
  void may_fail_here(FakeWorld::Call call, const char* what) const { world_.may_fail(call, what, index_); }
  /// Returns the queue. Reports a failure if it is another device's.
  FakeWorld::Queue& own(QueueId queue) const;
  void submit(QueueId queue, FakeWorld::Operation operation);

  FakeWorld& world_;
  std::uint32_t index_;
};

/// A world and its home device, which has the index 0. Further devices are added as `FakePeer`.
class FakeDevice final : public FakeWorld, public FakePeer {
 public:
  FakeDevice(const Options& options, Failure fail) : FakeWorld(options, std::move(fail)), FakePeer(static_cast<FakeWorld&>(*this)) {}
};

inline FakePeer::FakePeer(FakeDevice& home) : FakePeer(static_cast<FakeWorld&>(home)) {}

}  // namespace semcache::fakes
