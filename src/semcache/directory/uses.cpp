// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/directory/uses.hpp>

#include <algorithm>
#include <utility>

namespace semcache::directory {

UseIndex::UseIndex(std::size_t uses, std::size_t for_a_cell) : for_a_cell_(for_a_cell) {
  while (std::uint64_t{1} << (64 - shift_) < uses) --shift_;
  const std::size_t room = std::size_t{1} << (64 - shift_);
  links_.resize(room);
  buckets_.assign(room, none);
  levels_.reserve(64);
}

UseIndex::Key UseIndex::key_of(std::int64_t delta, std::uint64_t size) noexcept {
  unsigned level = 0;
  while (std::uint64_t{1} << level < size) ++level;
  return key_of((zero - static_cast<std::uint64_t>(delta)) >> level, level);
}

void UseIndex::count(unsigned level, int change) noexcept {
  auto at = std::find_if(levels_.begin(), levels_.end(), [&](const Level& l) { return l.level == level; });
  if (at == levels_.end()) at = levels_.insert(at, {level, 0});
  at->uses += static_cast<std::uint32_t>(change);
}

/// It is the last one of its ring.
void UseIndex::add(const Use& use, std::size_t place) noexcept {
  const auto at = static_cast<std::uint32_t>(place);
  const Key key = key_of(use.delta, use.size);
  std::uint32_t& first = buckets_[bucket(key)];
  if (first == none) first = links_[at].before = at;
  const std::uint32_t last = links_[first].before;
  links_[at] = {last, first, key};
  links_[last].behind = links_[first].before = at;
  count(level_of(key), +1);
}

void UseIndex::remove(std::size_t place) noexcept {
  const Link& link = links_[place];
  std::uint32_t& first = buckets_[bucket(link.key)];
  if (first == place) first = link.behind == place ? none : link.behind;
  links_[link.before].behind = link.behind;
  links_[link.behind].before = link.before;
  count(level_of(link.key), -1);
}

bool UseIndex::is_worth_it(ByteRange offsets, std::size_t uses) const noexcept {
  std::uint64_t cells = 0;
  for (const Level& l : levels_) {
    if (l.uses > 0) cells += last_cell(offsets, l.level) + 1 - first_cell(offsets, l.level);
  }
  return cells * for_a_cell_ <= uses;
}

std::size_t UseIndex::find(const base::Vector<Use>& list, std::uint32_t owner, std::int64_t delta, std::uint64_t size) const noexcept {
  std::size_t found = list.size();
  (void)all_in_ring(buckets_[bucket(key_of(delta, size))], [&](std::uint32_t at) {
    if (list[at].owner == owner && list[at].delta == delta) found = at;
    return found != at;
  });
  return found;
}

std::uint64_t UseIndex::memory_bytes() const noexcept {
  return sizeof(*this) + links_.capacity() * sizeof(Link) + buckets_.capacity() * sizeof(std::uint32_t) + levels_.capacity() * sizeof(Level);
}

void Uses::make_room_in_index(std::size_t scanned) {
  if (index_ != nullptr && list_.size() < index_->room()) return;
  auto index = base::make_owned<UseIndex>(list_.size() + 1, scanned / 4);
  for (std::size_t i = 0; i < list_.size(); ++i) index->add(list_[i], i);
  index_ = std::move(index);
}

void Uses::remove_from_index(std::size_t at) noexcept {
  const std::size_t last = list_.size() - 1;
  index_->remove(at);
  if (at == last) return;
  index_->remove(last);
  index_->add(list_[last], at);
}

std::uint64_t Uses::memory_bytes() const noexcept { return list_.capacity() * sizeof(Use) + (index_ == nullptr ? 0 : index_->memory_bytes()); }

}  // namespace semcache::directory
