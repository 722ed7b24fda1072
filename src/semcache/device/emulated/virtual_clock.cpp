// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/emulated/virtual_clock.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace semcache::device {

double MachineModel::Figure::of(int device, double otherwise) const {
  const auto own = of_device.find(device);
  return own != of_device.end() ? own->second : of_all.value_or(otherwise);
}

double MachineModel::Figure::of(Link link, double otherwise) const {
  const auto own = of_link.find(link);
  if (own != of_link.end()) return own->second;
  if (link.first == host) return of(link.second, otherwise);
  if (link.second == host) return of(link.first, otherwise);
  return of_all.value_or(otherwise);
}

VirtualClock::VirtualClock(const MachineModel& model, const std::vector<int>& ordinals)
    : ordinals_(ordinals), spaces_(ordinals.size() + 1) {
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  for (const int ordinal : ordinals) devices_.push_back({model.memory.of(ordinal, no_limit), model.launch.of(ordinal, 0)});
  const auto place = [&](std::size_t space) { return space == 0 ? MachineModel::host : ordinals[space - 1]; };
  const auto link_at = [&](std::size_t index) { return MachineModel::Link{place(index / spaces_), place(index % spaces_)}; };
  const auto are_shared = [&](const MachineModel::Link& one, const MachineModel::Link& other) {
    return std::any_of(model.shared.begin(), model.shared.end(), [&](const std::vector<MachineModel::Link>& group) {
      const auto has = [&](const MachineModel::Link& link) { return std::find(group.begin(), group.end(), link) != group.end(); };
      return has(one) && has(other);
    });
  };
  for (std::size_t index = 0; index < spaces_ * spaces_; ++index) {
    const MachineModel::Link link = link_at(index);
    std::size_t line = index;
    for (std::size_t earlier = 0; earlier < index; ++earlier) {
      if (are_shared(link, link_at(earlier))) line = links_[earlier].line;
    }
    const bool to_or_from_host = link.first == MachineModel::host || link.second == MachineModel::host;
    links_.push_back({(to_or_from_host ? model.link : model.peer).of(link, no_limit), model.latency.of(link, 0), line});
  }
  lines_.resize(links_.size(), 0);
}

VirtualClock::Queue VirtualClock::add_queue(SpaceId device) {
  queues_.push_back({device, host_});
  return queues_.size() - 1;
}

VirtualClock::Seconds VirtualClock::occupy(Queue queue, Seconds& free, Seconds& busy, Seconds seconds) noexcept {
  Seconds& time = queues_[queue].time;
  time = std::max({time, host_, free}) + seconds;
  free = time;
  busy += seconds;
  return time;
}

VirtualClock::Seconds VirtualClock::transfer(Queue queue, SpaceId from, SpaceId to, std::uint64_t bytes) noexcept {
  if (from == to) {
    compute(queue, 2 * bytes);
    return queues_[queue].time;
  }
  LinkState& link = links_[index_of(from, to)];
  return occupy(queue, lines_[link.line], link.busy, link.latency + static_cast<double>(bytes) / link.bytes_per_second);
}

void VirtualClock::compute(Queue queue, std::uint64_t bytes) noexcept {
  DeviceState& device = devices_[queues_[queue].device.value - 1];
  occupy(queue, device.free, device.busy, device.launch + static_cast<double>(bytes) / device.bytes_per_second);
}

EventId VirtualClock::record(Queue queue) {
  events_.emplace(last_event_ + 1, queues_[queue].time);
  return ++last_event_;
}

void VirtualClock::wait(Queue queue, EventId event) noexcept {
  Seconds& time = queues_[queue].time;
  time = std::max(time, time_of(event));
}

VirtualClock::Seconds VirtualClock::time_of(EventId event) const noexcept {
  const auto found = events_.find(event);
  return found != events_.end() ? found->second : 0;
}

void VirtualClock::host_waits_until(Seconds time) noexcept { host_ = std::max(host_, time); }

void VirtualClock::host_waits_for_device(SpaceId device) noexcept {
  for (const QueueState& queue : queues_) {
    if (queue.device == device) host_waits_until(queue.time);
  }
}

VirtualTimes VirtualClock::times() const {
  VirtualTimes times;
  times.seconds = host_;
  for (const QueueState& queue : queues_) times.seconds = std::max(times.seconds, queue.time);
  const auto name = [&](std::size_t space) { return space == 0 ? std::string("host") : "device " + std::to_string(ordinals_[space - 1]); };
  for (std::size_t d = 0; d < devices_.size(); ++d) times.devices.push_back({name(d + 1), devices_[d].busy});
  for (std::size_t from = 0; from < spaces_; ++from) {
    for (std::size_t to = 0; to < spaces_; ++to) {
      if (from != to) times.links.push_back({name(from) + " to " + name(to), links_[from * spaces_ + to].busy});
    }
  }
  return times;
}

}  // namespace semcache::device
