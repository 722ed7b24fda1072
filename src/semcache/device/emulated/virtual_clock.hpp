// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/device/device.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace semcache::device {

/// The speeds of a machine, as a file states them (SEMCACHE_EMULATED_MACHINE). Devices are named by their ordinals. What the
/// file does not name costs nothing.
struct SEMCACHE_API MachineModel {
  static constexpr int host = -1;
  using Link = std::pair<int, int>;  ///< from a device or the host, to another of them

  /// A figure for all devices or links, and for some of them. The most specific one counts.
  struct Figure {
    std::optional<double> of_all;
    std::map<int, double> of_device;  ///< of links: the two between the host and this device
    std::map<Link, double> of_link;
    [[nodiscard]] double of(int device, double otherwise) const;
    [[nodiscard]] double of(Link link, double otherwise) const;
  };
  Figure memory;   ///< bytes per second of a device's own memory
  Figure launch;   ///< seconds that a kernel costs beside its bytes; a fill, and a copy within a device, too
  Figure link;     ///< bytes per second between the host and a device, in each direction
  Figure peer;     ///< bytes per second from one device to another
  Figure latency;  ///< seconds that a transfer over a link costs beside its bytes
  std::vector<std::vector<Link>> shared;  ///< links of one group carry one transfer at a time, all together
};

/// The time that the work of emulated devices would take on the machine of a model. Nothing real is measured, so equal calls give
/// equal times.
///
/// There is a time for each queue, each event, and the host. Work begins when its queue has come so far, the host has (which
/// submits it), and the link or the device is free. Then all of them but the host have come to its end. A link carries one transfer
/// at a time, and a device carries out one kernel, fill or copy at a time; both in the order of the calls, so work that begins late
/// also delays what is submitted behind it to the same link or device. The host comes further only by waiting.
///
/// Spaces are those of the devices' order at construction: space k > 0 is the k-th ordinal. Threads: none; the caller serialises.
class SEMCACHE_API VirtualClock {
 public:
  using Seconds = double;
  using Queue = std::size_t;

  /// @param ordinals  the devices, in their order
  VirtualClock(const MachineModel& model, const std::vector<int>& ordinals);

  /// Adds a queue of the device in this space, which begins now: at the host's time.
  [[nodiscard]] Queue add_queue(SpaceId device);
  /// Carries bytes over the link between two spaces, one of which is a device's. Within one device the memory both reads and
  /// writes them.
  /// @return when they have arrived
  Seconds transfer(Queue queue, SpaceId from, SpaceId to, std::uint64_t bytes) noexcept;
  /// Lets the queue's device use so many bytes of its memory: a kernel, or a fill.
  void compute(Queue queue, std::uint64_t bytes) noexcept;

  [[nodiscard]] EventId record(Queue queue);
  void release(EventId event) noexcept { events_.erase(event); }
  /// Lets later work of the queue begin behind the event.
  void wait(Queue queue, EventId event) noexcept;

  void host_waits_until(Seconds time) noexcept;
  void host_waits_for(EventId event) noexcept { host_waits_until(time_of(event)); }
  void host_waits_for_queue(Queue queue) noexcept { host_waits_until(queues_[queue].time); }
  void host_waits_for_device(SpaceId device) noexcept;

  [[nodiscard]] Seconds host() const noexcept { return host_; }
  [[nodiscard]] VirtualTimes times() const;

 private:
  struct QueueState {
    SpaceId device;
    Seconds time;
  };
  struct DeviceState {
    double bytes_per_second;
    Seconds launch;
    Seconds free = 0, busy = 0;
  };
  struct LinkState {
    double bytes_per_second;
    Seconds latency;
    std::size_t line;  ///< of `lines_`; links that are shared have one together
    Seconds busy = 0;
  };
  [[nodiscard]] std::size_t index_of(SpaceId from, SpaceId to) const noexcept { return from.value * spaces_ + to.value; }
  [[nodiscard]] Seconds time_of(EventId event) const noexcept;
  /// Lets work of so many seconds begin as early as the queue, the host and the resource permit. @return its end
  Seconds occupy(Queue queue, Seconds& free, Seconds& busy, Seconds seconds) noexcept;

  const std::vector<int> ordinals_;
  const std::size_t spaces_;
  std::vector<DeviceState> devices_;  ///< by space, less one
  std::vector<LinkState> links_;      ///< by `index_of`; those from a space to itself are not used
  std::vector<Seconds> lines_;        ///< when each is free
  std::vector<QueueState> queues_;
  std::unordered_map<EventId, Seconds> events_;
  EventId last_event_ = 0;
  Seconds host_ = 0;
};

}  // namespace semcache::device
