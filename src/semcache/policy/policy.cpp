// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/policy.hpp>

#include <algorithm>
#include <utility>

namespace semcache::policy {

SavePlace place_of_save(const SaveChoices& choices) noexcept {
  if (choices.wanter_is_clean) return SavePlace::wanter;
  if (choices.on_host || choices.room_for_snapshot) return SavePlace::snapshot_beside;
  return choices.host_side_is_clean ? SavePlace::wanters_host_side : SavePlace::snapshot_on_host;
}

double seconds_of_copy(const Topology& topology, SpaceId from, SpaceId to, std::uint64_t bytes) noexcept {
  return static_cast<double>(bytes) * topology.copy_cost(from, to) / (bytes_between_devices_a_second * topology.between_devices);
}

LeavesAs leaves_as(const SpareMemory& m) noexcept {
  if (m.has_copy) return LeavesAs::copy;
  return m.seconds_to_make < 2 * m.seconds_of_copy ? LeavesAs::made_again : LeavesAs::array;
}

SpareOrder order_of(const SpareMemory& m) noexcept {
  const LeavesAs how = leaves_as(m);
  return {how, how == LeavesAs::made_again ? m.seconds_to_make / static_cast<double>(m.bytes) : 0};
}

std::uint64_t block_bytes(std::uint64_t array_bytes, std::uint64_t device_block_bytes) noexcept {
  constexpr std::uint64_t most_blocks = 4096;
  if (array_bytes < 2 * device_block_bytes) return 0;
  return std::max(device_block_bytes, round_up(array_bytes / most_blocks, device_block_bytes));
}

void FetchForecast::fetched(std::uint32_t writes) noexcept {
  if (writes == 0) return;  // the host asked twice for the same content
  if (writes == 1) {
    if (streak_ < needed_) ++streak_;
    return;
  }
  if (fetch_follows() && needed_ < 1024) needed_ *= 2;
  streak_ = 0;
}

bool ReadHabit::copied() noexcept {
  const bool read = std::exchange(read_, false);
  if (left_ > 0) return --left_ > 0;
  if (read) {
    ++streak_;
  } else {
    if (brought_ > 0) needed_ = static_cast<std::uint16_t>(std::min<unsigned>(2u * needed_, most_needed));
    streak_ = brought_ = 0;
  }
  if (streak_ < needed_) return false;
  brought_ = static_cast<std::uint8_t>(std::min<unsigned>(std::max<unsigned>(needed_, 2u * brought_), most_behind_a_look));
  left_ = brought_;
  return true;
}

}  // namespace semcache::policy
