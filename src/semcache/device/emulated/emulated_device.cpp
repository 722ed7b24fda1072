// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/base/patience.hpp>
#include <semcache/device/detail/digest.hpp>
#include <semcache/device/device.hpp>
#include <semcache/device/emulated/virtual_clock.hpp>
#include <semcache/platform/platform.hpp>

// The one user of <sys/mman.h> outside platform/linux: this device's memory is host memory, and of the platform a device uses
// only free functions such as `reserve_addresses`, not a `Platform`.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace semcache::device {

/// The virtual clock, behind a lock, and what it must know of addresses: whose memory they are, and which host memory transfers use.
class EmulatedMachine : base::Uncopied {
 public:
  EmulatedMachine(const MachineModel& model, const std::vector<int>& ordinals) : clock_(model, ordinals), ordinals_(ordinals) {}

  [[nodiscard]] SpaceId space_of(int ordinal) const {
    const auto found = std::find(ordinals_.begin(), ordinals_.end(), ordinal);
    SEMCACHE_EXPECTS(found != ordinals_.end(), "emulated machine: it has no device " + std::to_string(ordinal));
    return device_space(static_cast<std::uint32_t>(found - ordinals_.begin()));
  }
  void share(Device::PeerUse use) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    peers_ = use == Device::PeerUse::permitted;
  }
  void add_memory(SpaceId device, const std::byte* address, std::uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    owners_[base::number(address)] = {base::number(address) + bytes, device};
  }
  void remove_memory(const std::byte* address) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    owners_.erase(base::number(address));
  }

  void copied(VirtualClock::Queue queue, const std::byte* to, const std::byte* from, std::uint64_t bytes, std::uint64_t host_span) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    const SpaceId target = owner(to), source = owner(from);
    if (bytes == 0 || (target == host_space && source == host_space)) return;
    VirtualClock::Seconds end = 0;
    if (target != host_space && source != host_space && target != source && !peers_) {
      (void)clock_.transfer(queue, source, host_space, bytes);
      end = clock_.transfer(queue, host_space, target, bytes);
    } else {
      end = clock_.transfer(queue, source, target, bytes);
    }
    if (target == host_space) note_flight(to, host_span, Device::Direction::from_device, end);
    if (source == host_space) note_flight(from, host_span, Device::Direction::to_device, end);
  }

  void host_needs(const std::byte* host, std::uint64_t bytes, Access mode) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::uintptr_t begin = base::number(host), end = begin + bytes;
    for (const Flight& f : flights_) {
      if (f.begin < end && begin < f.end && (f.direction == Device::Direction::from_device || writes(mode))) clock_.host_waits_until(f.until);
    }
  }

  /// Calls `use` with the clock.
  template <class Use>
  auto with_clock(const Use& use) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return use(clock_);
  }

 private:
  /// A transfer from or to host memory that the host has not waited for.
  struct Flight {
    std::uintptr_t begin, end;
    Device::Direction direction;
    VirtualClock::Seconds until;
  };

  [[nodiscard]] SpaceId owner(const std::byte* address) const noexcept {
    const auto behind = owners_.upper_bound(base::number(address));
    if (behind == owners_.begin()) return host_space;
    const auto& [end, device] = std::prev(behind)->second;
    return base::number(address) < end ? device : host_space;
  }
  void note_flight(const std::byte* host, std::uint64_t bytes, Device::Direction direction, VirtualClock::Seconds until) noexcept {
    constexpr std::size_t most = 4096;  // so that a host that never waits needs no more memory than that
    if (flights_.size() == most) clock_.host_waits_until(flights_.front().until);
    const auto over = [&](const Flight& f) { return f.until <= clock_.host(); };
    flights_.erase(std::remove_if(flights_.begin(), flights_.end(), over), flights_.end());
    try {
      flights_.push_back({base::number(host), base::number(host) + bytes, direction, until});
    } catch (const std::bad_alloc&) {
      clock_.host_waits_until(until);
    }
  }

  std::mutex mutex_;  ///< guards all members
  VirtualClock clock_;
  const std::vector<int> ordinals_;
  std::map<std::uintptr_t, std::pair<std::uintptr_t, SpaceId>> owners_;  ///< by first address: the end, and whose memory it is
  std::vector<Flight> flights_;
  bool peers_ = true;
};

namespace {

constexpr std::size_t array_alignment = 512;

std::uint64_t quarter_of_host_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::uint64_t{1} << 30;
  return static_cast<std::uint64_t>(pages) / 4 * static_cast<std::uint64_t>(page);
}

using base::number;
using base::pointer;

void protect_or_die(std::uintptr_t begin, std::uintptr_t end, int protection) noexcept {
  if (::mprotect(pointer(begin), end - begin, protection) != 0)
    base::fatal("emulated device: mprotect of %zu bytes at %p failed with error %d; raise vm.max_map_count",
                static_cast<std::size_t>(end - begin), pointer(begin), errno);
}

std::byte* allocate_aligned(std::uint64_t bytes) {
  const std::uint64_t rounded = round_up(std::max<std::uint64_t>(bytes, 1), array_alignment);
  if (rounded < bytes) return nullptr;
  return static_cast<std::byte*>(std::aligned_alloc(array_alignment, rounded));
}

/// The pages that are closed to programs (SEMCACHE_CHECK=1). Devices that copy from and to each other share one object.
struct ClosedPages {
  std::recursive_mutex mutex;  ///< guards `ranges`, and the opening of closed pages for a copy (two ends)
  std::map<std::uintptr_t, std::uintptr_t> ranges;  ///< disjoint ranges [key, value)
  std::atomic<bool> any{false};
};

/// A device made of host memory of its own, so that a missing copy shows as wrong data on any machine.
///
/// Queues are synchronous: an operation has happened when its submission returns, so every event is complete when it
/// is recorded. Memory is counted as if it were a real device's: `map` and `allocate` fail beyond `memory_bytes`.
///
/// A device with an `EmulatedMachine` tells its virtual clock what it does, which changes nothing of that. An event that is found
/// complete counts as waited for: whoever knows of it submits work that would otherwise have to wait.
class EmulatedDevice final : public Device {
 public:
  EmulatedDevice(int ordinal, std::uint64_t memory_bytes, std::shared_ptr<EmulatedMachine> machine)
      : ordinal_(ordinal),
        memory_bytes_(memory_bytes != 0 ? memory_bytes : quarter_of_host_memory()),
        machine_(std::move(machine)),
        space_(machine_ != nullptr ? machine_->space_of(ordinal) : host_space) {}

  DeviceKind kind() const noexcept override { return DeviceKind::emulated; }
  std::string name() const override { return "emulated device " + std::to_string(ordinal_); }
  int ordinal() const noexcept override { return ordinal_; }
  std::uint64_t total_memory_bytes() const override { return memory_bytes_; }
  std::uint64_t free_memory_bytes() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return memory_bytes_ - used_bytes_;
  }

  // --- addresses and memory -----------------------------------------------------------------------------------------
  std::uint64_t granularity_bytes() const noexcept override { return granularity; }
  std::byte* reserve(std::uint64_t& bytes) override { return platform::reserve_addresses(bytes); }
  void release(std::byte* base, std::uint64_t bytes) noexcept override {
    if (base != nullptr && bytes > 0) ::munmap(base, bytes);
  }

  void map(std::byte* address, std::uint64_t bytes) override {
    map_closed(address, bytes);
    if (const int error = open(address, bytes); error != 0) {
      give_memory(bytes);
      if (machine_ != nullptr) machine_->remove_memory(address);
      throw_refused("mprotect", error, bytes);
    }
  }

  void map_closed(std::byte* address, std::uint64_t bytes) override {
    expect_granules(address, bytes);
    take_memory(bytes, "mapping");
    own(address, bytes);
  }

  /// All memory is the host's, so only what is counted, and the times of copies, differ from those of `map`.
  void map_on(Location location, std::byte* address, std::uint64_t bytes) override {
    SEMCACHE_EXPECTS(location.device == nullptr || location.device->kind() == DeviceKind::emulated,
                     "emulated device: map of memory on a device of another kind");
    auto* const owner = static_cast<EmulatedDevice*>(location.device);
    if (owner == this) return map(address, bytes);
    expect_granules(address, bytes);
    if (owner != nullptr && std::find(owner->users_.begin(), owner->users_.end(), this) == owner->users_.end())
      throw DeviceError(name() + ": memory of " + owner->name() + " cannot lie behind its addresses, because it does not reach that device (no "
                        "peer access). Map memory of a device that it reaches, or of the host");
    const base::TakesTime work;
    const auto memory = std::make_shared<Memory>(Memory{owner, false});
    if (owner != nullptr) owner->take_memory(bytes, "mapping");
    bool mapped = false;
    const base::AtEnd undone([&] {
      if (mapped) return;
      if (machine_ != nullptr) machine_->remove_memory(address);
      if (owner != nullptr) owner->give_memory(bytes);
      const std::lock_guard<std::mutex> lock(mutex_);
      places_.erase(address);
    });
    if (machine_ != nullptr && owner != nullptr) machine_->add_memory(owner->space_, address, bytes);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      places_.emplace(address, memory);
    }
    const int error = open(address, bytes);
    mapped = error == 0;
    if (!mapped) throw_refused("mprotect", error, bytes);
  }

  void map_same(std::byte* address, std::byte* of, std::uint64_t bytes) override {
    const base::TakesTime work;
    const std::lock_guard<std::mutex> lock(mutex_);
    auto same = places_.find(of);
    if (same == places_.end()) same = places_.emplace(of, std::make_shared<Memory>(Memory{this, false})).first;
    if (!same->second->shared) {
      if (const int error = share(of, bytes); error != 0) throw_refused("mmap", error, bytes);
      same->second->shared = true;
    }
    const EmulatedDevice* const owner = same->second->owner;
    const auto place = places_.emplace(address, same->second).first;
    bool mapped = false;
    const base::AtEnd undone([&] {
      if (mapped) return;
      places_.erase(place);
      if (machine_ != nullptr) machine_->remove_memory(address);
    });
    if (machine_ != nullptr && owner != nullptr) machine_->add_memory(owner->space_, address, bytes);
    // Of shared memory, a move of no bytes makes one more mapping.
    mapped = ::mremap(of, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) != MAP_FAILED;
    if (mapped) return;
    const int error = errno;
    reserve_again(address, bytes);
    throw_refused("mremap", error, bytes);
  }

  void unmap(std::byte* address, std::uint64_t bytes) noexcept override {
    set_accessible(address, bytes, true);
    reserve_again(address, bytes);
    if (machine_ != nullptr) machine_->remove_memory(address);
    EmulatedDevice* owner = this;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (const auto place = places_.find(address); place != places_.end()) {
        owner = place->second.use_count() > 1 ? nullptr : place->second->owner;
        places_.erase(place);
      }
    }
    if (owner != nullptr) owner->give_memory(bytes);
  }

  void set_accessible(std::byte* address, std::uint64_t bytes, bool accessible) noexcept override {
    if (bytes == 0 || (accessible && !closed_->any.load(std::memory_order_acquire))) return;
    const std::lock_guard<std::recursive_mutex> lock(closed_->mutex);
    auto& ranges = closed_->ranges;
    std::uintptr_t begin = number(address);
    std::uintptr_t end = begin + bytes;
    auto it = ranges.upper_bound(begin);
    if (it != ranges.begin() && std::prev(it)->second > begin) --it;
    // Closed parts in front and behind stay closed, and the range may be added. Without memory to note them, more is open.
    std::map<std::uintptr_t, std::uintptr_t> rest;
    try {
      for (auto closed = it; closed != ranges.end() && closed->first < end; ++closed) {
        if (closed->first < begin) rest.emplace(closed->first, begin);
        if (closed->second > end) rest.emplace(end, closed->second);
      }
      if (!accessible) rest.emplace(begin, end);
    } catch (const std::bad_alloc&) {
      if (!accessible) return;
      rest.clear();
    }
    bool was_closed = false;
    while (it != ranges.end() && it->first < end) {
      was_closed = true;
      if (rest.empty()) {
        begin = std::min(begin, it->first);
        end = std::max(end, it->second);
      }
      it = ranges.erase(it);
    }
    ranges.merge(rest);
    if (!accessible || was_closed) protect_or_die(begin, end, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
    closed_->any.store(!ranges.empty(), std::memory_order_release);
  }

  // --- several devices ----------------------------------------------------------------------------------------------
  void share_with(const std::vector<Device*>& others, PeerUse use) override {
    if (machine_ != nullptr) machine_->share(use);
    for (Device* const other : others) static_cast<EmulatedDevice*>(other)->closed_ = closed_;
    if (use == PeerUse::permitted) users_.insert(users_.end(), others.begin(), others.end());
  }

  // --- queues and events --------------------------------------------------------------------------------------------
  QueueId open_queue() override { return add_queue({}); }
  QueueId adopt_queue(void*, std::shared_ptr<void> owner) override { return add_queue(std::move(owner)); }
  std::shared_ptr<void> close_queue(QueueId queue) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    SEMCACHE_CHECK(queue.value < queues_.size() && queues_[queue.value].open);
    queues_[queue.value].open = false;
    return std::exchange(queues_[queue.value].owner, nullptr);
  }

  EventId record(QueueId queue) override {
    const VirtualClock::Queue time = time_of(queue);
    if (machine_ != nullptr) return machine_->with_clock([&](VirtualClock& c) { return c.record(time); });
    return next_event_.fetch_add(1, std::memory_order_relaxed);
  }

  void wait(QueueId queue, EventId event) override {
    const VirtualClock::Queue time = time_of(queue);
    tell([&](VirtualClock& c) { c.wait(time, event); });
  }
  bool complete(EventId event) override {
    synchronize(event);
    return true;
  }
  void synchronize(EventId event) override {
    tell([&](VirtualClock& c) { c.host_waits_for(event); });
  }
  void release(EventId event) noexcept override {
    tell([&](VirtualClock& c) { c.release(event); });
  }
  void synchronize_queue(QueueId queue) override {
    const VirtualClock::Queue time = time_of(queue);
    tell([&](VirtualClock& c) { c.host_waits_for_queue(time); });
  }
  void synchronize_device() override {
    tell([&](VirtualClock& c) { c.host_waits_for_device(space_); });
  }

  // --- virtual time -------------------------------------------------------------------------------------------------
  std::optional<VirtualTimes> virtual_times() const override {
    if (machine_ == nullptr) return std::nullopt;
    return machine_->with_clock([](const VirtualClock& c) { return c.times(); });
  }
  void note_copy(QueueId queue, const std::byte* to, const std::byte* from, std::uint64_t bytes, std::uint64_t host_span) noexcept override {
    if (machine_ != nullptr) machine_->copied(time_of(queue), to, from, bytes, host_span);
  }
  void note_kernel(QueueId queue, std::uint64_t bytes) noexcept override {
    if (machine_ == nullptr) return;
    const VirtualClock::Queue time = time_of(queue);
    tell([&](VirtualClock& c) { c.compute(time, bytes); });
  }
  void host_needs(const std::byte* host, std::uint64_t bytes, Access mode) noexcept override {
    if (machine_ != nullptr) machine_->host_needs(host, bytes, mode);
  }

  // --- transfers ----------------------------------------------------------------------------------------------------
  void copy_to_device(QueueId queue, std::byte* device, const std::byte* host, std::uint64_t bytes) override {
    copy(queue, device, host, bytes);
  }
  void copy_from_device(QueueId queue, std::byte* host, const std::byte* device, std::uint64_t bytes) override {
    copy(queue, host, device, bytes);
  }
  void copy_within_device(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    copy(queue, to, from, bytes);
  }
  void copy_columns(QueueId queue, Direction /*direction*/, std::byte* to, std::uint64_t to_pitch, const std::byte* from,
                    std::uint64_t from_pitch, std::uint64_t width, std::uint64_t columns) override {
    expect_open(queue);
    if (width == 0 || columns == 0) return;
    for (std::uint64_t c = 0; c < columns; ++c) move_bytes(to + c * to_pitch, from + c * from_pitch, width);
    note_copy(queue, to, from, width * columns, (columns - 1) * std::max(to_pitch, from_pitch) + width);
  }
  void fill(QueueId queue, std::byte* to, std::uint64_t bytes, const std::byte* pattern, std::uint32_t pattern_bytes) override {
    expect_open(queue);
    SEMCACHE_EXPECTS(pattern_bytes > 0 && bytes % pattern_bytes == 0,
                     "emulated device: fill of " + std::to_string(bytes) + " bytes with a pattern of " +
                         std::to_string(pattern_bytes));
    if (bytes == 0) return;
    const base::TakesTime work;
    const Opened opened(*this, to, bytes);
    // Doubling: the part that is filled already is copied behind itself, in blocks that stay in a near cache.
    constexpr std::uint64_t block = std::uint64_t{64} << 10;
    std::memcpy(to, pattern, pattern_bytes);
    std::uint64_t done = pattern_bytes;
    while (done < bytes) {
      const std::uint64_t step = std::min({done, bytes - done, round_down(block, pattern_bytes)});
      std::memcpy(to + done, to, step);
      done += step;
    }
    note_kernel(queue, bytes);
  }

  std::uint64_t digest(QueueId queue, const std::byte* device, std::uint64_t bytes) override {
    expect_open(queue);
    const base::TakesTime work;
    const Opened opened(*this, device, bytes);
    std::uint64_t sum = 0;
    for (std::uint64_t at = 0; at < bytes; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, device + at, std::min<std::uint64_t>(8, bytes - at));
      sum += detail::digest_term(word, at / 8);
    }
    note_kernel(queue, bytes);
    synchronize_queue(queue);
    return detail::digest_finish(sum, bytes);
  }

  // --- memory beside the arena, host memory -------------------------------------------------------------------------
  std::byte* allocate(std::uint64_t bytes) override {
    take_memory(bytes, "allocation");
    std::byte* const address = allocate_aligned(bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (address == nullptr) {
      used_bytes_ -= bytes;
      throw OutOfMemory(name() + ": the host has no memory for " + std::to_string(bytes) + " bytes. Free memory of the host", bytes,
                        memory_bytes_);
    }
    try {
      allocations_.emplace(address, bytes);
      if (machine_ != nullptr) machine_->add_memory(space_, address, bytes);
    } catch (...) {
      allocations_.erase(address);
      used_bytes_ -= bytes;
      std::free(address);
      throw;
    }
    return address;
  }

  void deallocate(std::byte* address) noexcept override {
    if (address == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = allocations_.find(address);
    SEMCACHE_CHECK(it != allocations_.end());
    used_bytes_ -= it->second;
    allocations_.erase(it);
    if (machine_ != nullptr) machine_->remove_memory(address);
    std::free(address);
  }

  std::byte* allocate_staging(std::uint64_t bytes) override {
    std::byte* const address = allocate_aligned(bytes);
    if (address == nullptr)
      throw OutOfMemory(name() + ": the host has no memory for a staging buffer of " + std::to_string(bytes) + " bytes. Free memory of the host", bytes,
                        0);
    return address;
  }

  void deallocate_staging(std::byte* address) noexcept override { std::free(address); }

 private:
  struct Queue {
    bool open = false;
    std::shared_ptr<void> owner;
    VirtualClock::Queue time = 0;  ///< the virtual clock's queue
  };

  /// Opens the closed pages that overlap a range, for the lifetime of the object, so that the device's own copies work while
  /// programs may not touch the pages. Takes no lock where no page is closed. Allocates nothing.
  class Opened : base::Uncopied {
   public:
    Opened(const EmulatedDevice& device, const std::byte* address, std::uint64_t bytes)
        : closed_(*device.closed_), begin_(number(address)), end_(begin_ + bytes) {
      if (!closed_.any.load(std::memory_order_acquire)) return;
      lock_ = std::unique_lock<std::recursive_mutex>(closed_.mutex);
      protect(PROT_READ | PROT_WRITE);
    }
    ~Opened() {
      if (lock_.owns_lock()) protect(PROT_NONE);
    }

   private:
    void protect(int protection) noexcept {
      auto it = closed_.ranges.upper_bound(begin_);
      if (it != closed_.ranges.begin()) --it;
      for (; it != closed_.ranges.end() && it->first < end_; ++it) {
        if (it->second > begin_) protect_or_die(it->first, it->second, protection);
      }
    }

    ClosedPages& closed_;
    const std::uintptr_t begin_, end_;
    std::unique_lock<std::recursive_mutex> lock_;
  };

  /// Mapped memory that lies, or has lain, at several places (`map_same`), or that is another's (`map_on`).
  struct Memory {
    EmulatedDevice* owner;  ///< nullptr: the host
    bool shared;            ///< its places are mappings of shared memory
  };

  void expect_open(QueueId queue) const { (void)time_of(queue); }
  static void expect_granules(const std::byte* address, std::uint64_t bytes) {
    SEMCACHE_EXPECTS(bytes % granularity == 0 && number(address) % granularity == 0,
                     "emulated device: map of a range that is not a multiple of the granularity");
  }

  /// Returns the virtual clock's queue. @throws UsageError  the queue is not open
  VirtualClock::Queue time_of(QueueId queue) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    SEMCACHE_EXPECTS(queue.value < queues_.size() && queues_[queue.value].open,
                     name() + ": queue " + std::to_string(queue.value) + " is not open");
    return queues_[queue.value].time;
  }

  /// Calls `use` with the virtual clock if there is one.
  template <class Use>
  void tell(const Use& use) const {
    if (machine_ != nullptr) machine_->with_clock(use);
  }

  QueueId add_queue(std::shared_ptr<void> owner) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto place = std::find_if(queues_.begin(), queues_.end(), [](const Queue& q) { return !q.open; });
    if (place == queues_.end()) {
      Queue made;
      tell([&](VirtualClock& c) { made.time = c.add_queue(space_); });
      place = queues_.insert(place, std::move(made));
    }
    place->open = true;
    place->owner = std::move(owner);
    return QueueId{static_cast<std::uint32_t>(place - queues_.begin())};
  }

  /// Notes that newly taken memory is this device's.
  void own(const std::byte* address, std::uint64_t bytes) {
    if (machine_ == nullptr) return;
    try {
      machine_->add_memory(space_, address, bytes);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      used_bytes_ -= bytes;
      throw;
    }
  }

  [[noreturn]] void throw_refused(const char* call, int error, std::uint64_t bytes) const {
    throw OutOfMemory(name() + ": the system refused memory for " + std::to_string(bytes) + " bytes (" + call + ": " + std::strerror(error) +
                          "). Raise the limit on mappings (vm.max_map_count) or, where vm.overcommit_memory is 2, on memory "
                          "(vm.overcommit_ratio), or use less (SEMCACHE_DEVICE_MEMORY)",
                      bytes, memory_bytes_);
  }

  /// Takes the memory behind the addresses away. New pages replace the old ones, instead of closing these, so that the process is no longer
  /// charged for the old ones.
  static void reserve_again(std::byte* address, std::uint64_t bytes) noexcept {
    const base::TakesTime work;
    if (::mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
      base::fatal("emulated device: memory at %p cannot be given back (mmap: error %d); raise vm.max_map_count",
                  static_cast<void*>(address), errno);
  }

  /// Makes pages accessible. @return 0, or the system's error; then all of them are inaccessible
  static int open(std::byte* address, std::uint64_t bytes) noexcept {
    if (::mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0) return 0;
    const int error = errno;
    // A range over several mappings may have been opened in part. It is closed again, so that nothing is mapped (I9).
    protect_or_die(number(address), number(address) + bytes, PROT_NONE);
    return error;
  }

  /// Makes mapped memory a mapping of shared memory with the same content. A forked child shares it, too.
  /// @return 0, or the system's error; then nothing has changed
  static int share(std::byte* address, std::uint64_t bytes) noexcept {
    void* const shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return errno;
    std::memcpy(shared, address, bytes);
    if (::mremap(shared, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) == MAP_FAILED)
      base::fatal("emulated device: memory at %p cannot be replaced (mremap: error %d); raise vm.max_map_count", static_cast<void*>(address), errno);
    return 0;
  }

  void take_memory(std::uint64_t bytes, const char* what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bytes > memory_bytes_ - used_bytes_)
      throw OutOfMemory(name() + ": " + what + " of " + std::to_string(bytes) + " bytes, but only " +
                            std::to_string(memory_bytes_ - used_bytes_) + " of " + std::to_string(memory_bytes_) +
                            " bytes are free",
                        bytes, memory_bytes_);
    used_bytes_ += bytes;
  }

  void give_memory(std::uint64_t bytes) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    SEMCACHE_CHECK(used_bytes_ >= bytes);
    used_bytes_ -= bytes;
  }

  void copy(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes) {
    expect_open(queue);
    if (bytes == 0) return;
    move_bytes(to, from, bytes);
    note_copy(queue, to, from, bytes, bytes);
  }

  void move_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    const base::TakesTime work;
    const Opened source(*this, from, bytes);
    const Opened target(*this, to, bytes);
    std::memmove(to, from, bytes);
  }

  /// 16 pages of 4 KiB; a multiple of the page size wherever pages are at most 64 KiB.
  static constexpr std::uint64_t granularity = std::uint64_t{64} << 10;

  const int ordinal_;
  const std::uint64_t memory_bytes_;
  const std::shared_ptr<EmulatedMachine> machine_;  ///< nullptr: no virtual clock
  const SpaceId space_;                             ///< this device's in the machine
  mutable std::mutex mutex_;  ///< guards the members below, up to `closed_`
  std::uint64_t used_bytes_ = 0;
  std::vector<Queue> queues_;
  std::unordered_map<std::byte*, std::uint64_t> allocations_;
  std::map<std::byte*, std::shared_ptr<Memory>> places_;  ///< by address; those of the same memory own one object

  std::shared_ptr<ClosedPages> closed_ = std::make_shared<ClosedPages>();
  std::vector<Device*> users_;  ///< the other devices that may use this one's memory
  std::atomic<EventId> next_event_{1};
};

}  // namespace

std::shared_ptr<EmulatedMachine> make_emulated_machine(const MachineModel& model, const std::vector<int>& ordinals) {
  return std::make_shared<EmulatedMachine>(model, ordinals);
}

std::unique_ptr<Device> make_emulated_device(int ordinal, std::uint64_t memory_bytes, std::shared_ptr<EmulatedMachine> machine) {
  return std::make_unique<EmulatedDevice>(ordinal, memory_bytes, std::move(machine));
}

}  // namespace semcache::device
