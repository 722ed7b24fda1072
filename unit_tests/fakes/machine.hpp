// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <fakes/failing_memory.hpp>
#include <fakes/fake_device.hpp>
#include <fakes/fake_platform.hpp>
#include <semcache/engine/engine.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace semcache::fakes {

/// An engine over fake devices and fake pages, and the moves of a program on it.
class Machine {
 public:
  struct Options {
    FakeDevice::Options device;  ///< each device's
    unsigned devices = 1;
    FakePlatform::Options platform;
    engine::Options engine;
  };
  using Failure = FakeDevice::Failure;
  using Stream = FakeDevice::Stream;
  /// The bytes of an array that a kernel writes, each with the value `mix(seed, position)`.
  struct Write {
    std::size_t operand;
    ByteRange range;
    std::uint64_t seed;
  };

  Machine(Options options, Failure fail) : fail_(std::move(fail)) {
    if (options.engine.surroundings == nullptr) options.engine.surroundings = &others_;
    options.device.page_bytes = std::min(options.platform.page_bytes, options.device.granularity_bytes);
    auto device = std::make_unique<FakeDevice>(options.device, fail_);
    auto platform = std::make_unique<FakePlatform>(options.platform, fail_);
    device_ = device.get();
    platform_ = platform.get();
    platform_->may_fail = [this](const char* what) { device_->may_fail(FakeDevice::call_platform, what); };
    if (options.device.kind == device::DeviceKind::cuda) {
      platform_->watch([this](const std::byte* p, std::uint64_t n, bool writes) { device_->check_host_access(p, n, writes); });
      device_->require_page_locks([this](const std::byte* p) { return platform_->owns(p); });
    } else {  // the processor itself copies to and from the emulated device's memory
      platform_->watch([this](const std::byte* p, std::uint64_t n, bool) { device_->check_accessible(p, n); });
    }
    std::vector<std::unique_ptr<device::Device>> devices;
    devices.push_back(std::move(device));
    while (devices.size() < options.devices) devices.push_back(std::make_unique<FakePeer>(*device_));
    for (const auto& d : devices) devices_.push_back(d.get());
    engine_ = std::make_unique<engine::Engine>(std::move(devices), std::move(platform), recorder_, options.engine);
    others_.engine.store(engine_.get());
    notices_ = options.engine.notices;
    if (const std::uint64_t bytes = engine_->state().guarded_arena_bytes(); bytes > 0) {
      platform_->also_protect(engine_->state().device_addresses->base(), bytes);
      device_->when_mapped = [this](const std::byte* p, std::uint64_t n, bool closed) {
        platform_->mapped(p, n, closed ? platform::Protection::none : platform::Protection::read_write);
      };
      device_->permits = [this](const std::byte* p, std::uint64_t n, bool writes) {
        bool all = true;
        for (const std::byte* at = p; at < p + n; at += platform_->page_bytes()) all = all && platform_->allows(at, writes);
        return all && (n == 0 || platform_->allows(p + n - 1, writes));
      };
    }
  }

  ~Machine() { others_.engine.store(nullptr); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Tells that the runtime is about to end: from now on there is no audit when the engine's lock is free.
  void ends() { others_.engine.store(nullptr); }
  /// Sets a move that runs once, when a call next gives up the engine's lock; nullptr: none. Has no effect if the options name
  /// surroundings.
  void when_unlocked(std::function<void()> move) { others_.set(std::move(move)); }
  /// Counts from now on how often this thread gives up the engine's lock (`waits_of_counted`).
  void count_waits_of_this_thread() {
    others_.counted_waits = 0;
    others_.counted = std::this_thread::get_id();
  }
  [[nodiscard]] std::uint64_t waits_of_counted() const { return others_.counted_waits; }
  [[nodiscard]] engine::Engine& engine() { return *engine_; }
  /// Returns the home device, which is also the world of all.
  [[nodiscard]] FakeDevice& device() { return *device_; }
  [[nodiscard]] device::Device& device(std::uint32_t index) { return *devices_[index]; }
  [[nodiscard]] FakePlatform& platform() { return *platform_; }
  [[nodiscard]] trace::Recorder& recorder() { return recorder_; }
  [[nodiscard]] Counters counters() const { return recorder_.totals(); }
  void fail(const std::string& text) { fail_(text); }

  static std::byte mix(std::uint64_t seed, std::uint64_t position) {
    return static_cast<std::byte>((seed * 0x9e3779b97f4a7c15u + position * 0xff51afd7ed558ccdu) >> 56);
  }

  // --- the host side of a program ------------------------------------------------------------------------------------
  /// Does the processor's part in an access: raises faults until the page permits the access.
  void touch_page(std::byte* address, bool write) {
    for (int tries = 0; notices_ && !platform_->allows(address, write); ++tries) {
      if (tries == 8) {
        fail_("livelock: a page stays closed although its fault was served");
        return;
      }
      const auto kind = unknown_faults_ ? platform::FaultKind::unknown
                                        : (write ? platform::FaultKind::write : platform::FaultKind::read);
      ++faults;
      if (engine_->host_access.serve(address, kind) != platform::FaultResult::served) {
        fail_("a fault on tracked memory was not served");
        return;
      }
    }
  }
  template <class Body>
  void for_each_page(const engine::Memory& m, ByteRange range, bool write, Body&& body) {
    const std::uint64_t page = platform_->page_bytes();
    for (std::uint64_t at = range.begin; at < range.end;) {
      const std::uint64_t stop = std::min(range.end, round_down(at, page) + page);
      touch_page(m.address + at, write);
      device_->check_host_access(m.address + at, stop - at, write);
      body(ByteRange{at, stop});
      at = stop;
    }
  }
  void host_read(const engine::Memory& m, ByteRange range, std::byte* out) {
    for_each_page(m, range, false, [&](ByteRange r) { std::memcpy(out + (r.begin - range.begin), m.address + r.begin, r.size()); });
  }
  void host_write(const engine::Memory& m, ByteRange range, std::uint64_t seed) {
    for_each_page(m, range, true, [&](ByteRange r) {
      for (std::uint64_t i = r.begin; i < r.end; ++i) m.address[i] = mix(seed, i);
      if (written_by_host) written_by_host(m, r, seed);
    });
  }
  /// Called for each page that `host_write` has written.
  std::function<void(const engine::Memory&, ByteRange, std::uint64_t seed)> written_by_host;
  std::vector<std::byte> host_content(const engine::Memory& m) {
    std::vector<std::byte> out(m.bytes);
    host_read(m, {0, m.bytes}, out.data());
    return out;
  }

  // --- launches ------------------------------------------------------------------------------------------------------
  // Streams convert from native ones. A device must be named with a stream, as in {native, 1}, if the stream has not been used yet, or
  // is the null stream, and the device is not the first.
  /// Returns the engine's index of a stream.
  engine::QueueIndex queue(void* native, std::uint32_t device = 0) { return engine_->adopt_queue(device, native, {}); }
  /// Calls begin_launch, submits a kernel, and calls end_launch. The kernel runs `body` late. @throws the errors of begin_launch
  void launch(const Stream& stream, const std::vector<engine::Operand>& operands, std::function<void()> body) {
    const engine::QueueIndex q = queue(stream.native, device_->device_of(stream));
    engine_->launches.begin_launch(q, operands.data(), operands.size());
    device_->launch(stream, touches(operands), std::move(body));
    engine_->launches.end_launch(q, operands.data(), operands.size());
  }
  /// Does the same for a kernel for which the program waits itself.
  /// @param meanwhile  moves of another thread, right after that wait
  void launch_and_wait(const Stream& stream, const std::vector<engine::Operand>& operands, std::function<void()> body,
                       const std::function<void()>& meanwhile = [] {}) {
    const engine::QueueIndex q = queue(stream.native, device_->device_of(stream));
    engine_->launches.begin_launch(q, operands.data(), operands.size());
    const engine::Clock before = engine_->launches.submitted_before(q);
    device_->launch(stream, touches(operands), std::move(body));
    device_->synchronize_stream(stream);
    meanwhile();
    const std::uint64_t number = engine_->launches.end_launch(q, operands.data(), operands.size());
    engine_->launches.launch_awaited(q, before, number);
  }
  static std::vector<FakeDevice::Touch> touches(const std::vector<engine::Operand>& operands) {
    std::vector<FakeDevice::Touch> out;
    for (const engine::Operand& o : operands) {
      if (o.memory->bytes > 0) out.push_back({o.memory->address, o.memory->bytes, o.writable});
    }
    return out;
  }
  /// The same of operands some of which are used in part.
  static std::vector<FakeDevice::Touch> touches(const std::vector<engine::Operand>& operands, const std::vector<engine::Requirement>& parts) {
    std::vector<FakeDevice::Touch> out;
    std::vector<engine::Operand> whole;
    for (const engine::Operand& o : operands) {
      if (std::none_of(parts.begin(), parts.end(), [&](const auto& part) { return part.memory == o.memory; })) whole.push_back(o);
    }
    for (const engine::Requirement& part : parts) {
      for (std::uint64_t c = 0; c < part.range.columns; ++c) {
        out.push_back({part.memory->address + part.range.column(c).begin, part.range.width, writes(part.mode)});
      }
    }
    for (const FakeDevice::Touch& t : touches(whole)) out.push_back(t);
    return out;
  }
  /// Launches a kernel that writes `range` of one array with mix(seed, position).
  void kernel_write(const Stream& stream, engine::Memory& m, ByteRange range, std::uint64_t seed) {
    std::byte* const base = m.address;
    launch(stream, {{&m, true}}, [base, range, seed] {
      for (std::uint64_t i = range.begin; i < range.end; ++i) base[i] = mix(seed, i);
    });
  }
  /// Launches a kernel that copies the content of one array, as it sees it, to `out`; `out` is valid after synchronize_device of the
  /// stream's device.
  void kernel_read(const Stream& stream, engine::Memory& m, std::vector<std::byte>& out) {
    out.assign(m.bytes, std::byte{0});
    const std::byte* const base = m.address;
    launch(stream, {{&m, false}}, [base, &out] { if (!out.empty()) std::memcpy(out.data(), base, out.size()); });
  }
  /// The program orders later work of a stream behind the work of another, or waits for that device where the other has been destroyed.
  void order_behind(const Stream& later, const Stream& earlier) {
    if (earlier.destroyed) device(earlier.device.value_or(0)).synchronize_device();
    else device_->order_streams(later, earlier);
  }
  /// Returns the content that a kernel on `stream` sees. The kernel is ordered after the program's other kernels, as a program
  /// must.
  std::vector<std::byte> device_content(const Stream& stream, engine::Memory& m) {
    std::vector<std::byte> out;
    for (const Stream& s : device_->unordered_kernels(stream, touches({{&m, false}}))) order_behind(stream, s);
    kernel_read(stream, m, out);
    device(device_->device_of(stream)).synchronize_device();
    return out;
  }
  /// The same of a part, by a launch that uses this part alone.
  std::vector<std::byte> device_content(const Stream& stream, engine::Memory& m, ByteRange part) {
    std::vector<std::byte> out(part.size());
    const engine::Operand operand{&m, false};
    engine::Requirement read{&m, part, Access::read};
    for (const Stream& s : device_->unordered_kernels(stream, touches({operand}, {read}))) order_behind(stream, s);
    const engine::QueueIndex q = queue(stream.native, device_->device_of(stream));
    const bool in_part = engine_->launches.begin_launch(q, &operand, 1, {&read, 1});
    device_->launch(stream, touches({operand}, {read}), [&out, from = m.address + part.begin] { std::memcpy(out.data(), from, out.size()); });
    engine_->launches.end_launch(q, &operand, 1, all_devices, {&read, in_part ? 1u : 0u});
    device(device_->device_of(stream)).synchronize_device();
    return out;
  }
  void copy(const engine::Memory& to, const engine::Memory& from) { engine_->copies.copy(to.address, from.address, to.bytes); }

  void unknown_faults(bool on) { unknown_faults_ = on; }
  /// Other threads audit the engine at every one of so many times when a call gives up the lock; at each if not set. An audit takes as long as many
  /// moves.
  void audit_every(std::uint64_t times) { others_.audit_every = times; }
  std::atomic<std::uint64_t> faults{0};

 private:
  /// Plays other threads, which run whenever a call gives up the engine's lock: they audit the engine and make the move, if any.
  struct Others : engine::Surroundings {
    void set(std::function<void()> next) {
      const std::lock_guard<std::mutex> guard(mutex);
      move.swap(next);
      waits.store(move != nullptr);
    }
    /// Returns the move, which is made once, or nothing.
    std::function<void()> take() {
      if (!waits.load()) return {};
      const std::lock_guard<std::mutex> guard(mutex);
      waits.store(false);
      return std::exchange(move, nullptr);
    }
    void without_lock() override {
      const FailuresPaused paused;
      if (counted.load() == std::this_thread::get_id()) ++counted_waits;
      const bool moves = waits.load();
      if (engine::Engine* const e = engine.load(); e != nullptr && (moves || turns.fetch_add(1) % audit_every == 0)) e->audit();
      if (const std::function<void()> made = take()) made();
    }
    std::mutex mutex;  ///< one thread may set the move while another one takes it
    std::function<void()> move;
    std::atomic<bool> waits{false};
    std::atomic<std::uint64_t> turns{0};
    std::atomic<std::thread::id> counted{};
    std::atomic<std::uint64_t> counted_waits{0};
    std::uint64_t audit_every = 1;
    std::atomic<engine::Engine*> engine{nullptr};
  };
  Others others_;
  Failure fail_;
  trace::Recorder recorder_;
  FakeDevice* device_ = nullptr;
  std::vector<device::Device*> devices_;
  FakePlatform* platform_ = nullptr;
  std::unique_ptr<engine::Engine> engine_;
  bool notices_ = true;
  bool unknown_faults_ = false;
};

}  // namespace semcache::fakes
