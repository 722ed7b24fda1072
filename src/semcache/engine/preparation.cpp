// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/preparation.hpp>

#include <algorithm>
#include <utility>

namespace semcache::engine {

/// Is this a use of a part's memory, of the array to which `m` belongs as a whole?
static bool is_beside(const Memory& m, const Requirement& use) noexcept { return !m.part && use.memory->part && use.memory->datum == m.datum; }

Obstacle Preparation::prepare(const Operand* operands, std::size_t count, const OperandParts& parts) {
  const auto for_each_need = [&](const auto& visit) {
    for (std::size_t i = 0; i < count; ++i) {
      Memory& m = *operands[i].memory;
      if (!is_no_array(m) && !parts.has(m)) visit(m, m.all());
    }
    for (const Requirement& part : parts) {
      if (!is_no_array(*part.memory)) visit(*part.memory, part.range);
    }
  };
  if (const Obstacle o = residency_.make_resident(for_each_need)) return o;
  // Parts of arrays come last. If an array's use is enlarged, to whole pages or to a hull, it may fetch bytes that a part writes, and these
  // must be fetched before the write is noted.
  for (const bool in_part : {false, true}) {
    for (std::size_t i = 0; i < count; ++i) {
      Memory& m = *operands[i].memory;
      if (m.part != in_part || is_no_array(m) || ready(operands[i])) continue;
      if (m.derived) {
        if (const Obstacle o = hazards_.computing(m)) return o;
      }
      const bool writable = operands[i].writable;
      const bool whole = std::any_of(parts.begin(), parts.end(), [&](const Requirement& part) {
        return part.memory == &m && part.range.size() == m.bytes && needs_content(part.mode) && writes(part.mode) == writable;
      }) && std::none_of(parts.begin(), parts.end(), [&](const Requirement& part) { return is_beside(m, part); });
      const auto same = std::find_if(parts.begin(), parts.end(), [&](const Requirement& part) { return part.memory == &m; });
      const SpaceId first = same != parts.end() ? same->first : SpaceId();
      if (const Obstacle o = whole || same == parts.end() ? prepare_whole(m, mode_of(writable), first) : prepare_parts(m, parts)) return o;
    }
  }
  return {};
}

Obstacle Preparation::prepare_whole(Memory& m, Mode mode, SpaceId first) {
  const bool writable = mode == Mode::writes;
  // An earlier attempt has made it ready, and only its flags are not set yet.
  if (s_.directory.fresh(m.slot, m.positions()) && (!writable || s_.directory.exclusive(m.slot, m.positions()))) return {};
  if (const Obstacle o = transfers_.make_fresh(m, m.positions(), first)) return o;
  if (!writable) return {};
  if (const Obstacle o = save(m, m.positions())) return o;
  if (s_.options.check_writes && !m.write_check && m.bytes > 0 && s_.directory.defined(m.datum, m.positions()) &&
      !s_.directory.exclusive(m.slot, m.positions())) {
    if (const Obstacle o = hazards_.quiesce(m)) return o;  // a kernel that writes a part of it may be under way, and not noted yet
    if (const Obstacle o = hazards_.writers_of(m)) return o;
    const std::uint64_t digest = executor_.digest_of(m);
    m.write_check = std::make_unique<Memory::WriteCheck>(s_.directory, digest, s_.directory.wanted(m.datum).extents(m.positions()));
  }
  transfers_.note_written(m, m.positions());  // I2
  return {};
}

/// A use that is enlarged, to whole pages or to a hull, may have bytes that the launch uses in a part's memory. These are not written here: if
/// they were, each of the two would take them from the other in each attempt.
static void append_without_parts(base::Vector<Region>& written, const Requirement& use, const OperandParts& parts) {
  base::Vector<Region> left{use.range};
  for (const Requirement& part : parts) {
    if (!is_beside(*use.memory, part)) continue;
    base::Vector<Region> rest;
    for (const Region& r : left) for_each_difference(r, part.range, [&](const Region& piece) { rest.push_back(piece); });
    left.swap(rest);
  }
  written.insert(written.end(), left.begin(), left.end());
}

// A write of parts begins no write check: bytes that are overwritten unread are not fetched and may hold anything now, so finding the
// same afterwards would prove nothing.
Obstacle Preparation::prepare_parts(Memory& m, const OperandParts& parts) {
  if (m.in_part == nullptr) m.in_part = base::make_owned<Memory::InPart>();
  base::Vector<Region> written;
  for (const Requirement& part : parts) {
    if (part.memory != &m) continue;
    if (needs_content(part.mode)) {
      if (const Obstacle o = transfers_.make_fresh(m, part.range, part.first)) return o;
    }
    if (writes(part.mode)) append_without_parts(written, part, parts);
  }
  const auto exclusive = [&](const Region& r) { return s_.directory.exclusive(m.slot, r); };
  // Nothing is written, or an earlier attempt has noted the writes.
  if (std::all_of(written.begin(), written.end(), exclusive)) return {};
  if (const Obstacle o = save_for_write(m, written)) return o;
  for (const Region& range : written) transfers_.note_written(m, range);  // I2
  return {};
}

Obstacle Preparation::save(Memory& m, const Region& range, const base::Vector<Region>& together) {
  if (const Obstacle o = hazards_.host_uses_of(m.datum, range, Mode::writes)) return o;
  return transfers_.save_all(m, range, Transfers::Loss::write, together);
}

Obstacle Preparation::save_for_write(Memory& m, const base::Vector<Region>& written) {
  // Saving a value of one range may overwrite the other holder of a value that a second range holds. So all are checked again.
  for (std::uint64_t saves = transfers_.saves() + 1; saves != transfers_.saves();) {
    saves = transfers_.saves();
    for (const Region& range : written) {
      if (const Obstacle o = save(m, range, written)) return o;
    }
  }
  return {};
}

Obstacle Preparation::meet(const Requirement* requirements, std::size_t count) {
  const auto for_each_need = [&](const auto& visit) {
    for (std::size_t i = 0; i < count; ++i) visit(*requirements[i].memory, requirements[i].range);
  };
  if (const Obstacle o = residency_.make_resident(for_each_need)) return o;
  // All fetches come first, because what a fetch saves on its way may be saved to bytes that another requirement will overwrite.
  for (std::size_t i = 0; i < count; ++i) {
    const Requirement& r = requirements[i];
    if (!needs_content(r.mode)) continue;
    if (const Obstacle o = transfers_.make_fresh(*r.memory, r.range)) return o;
  }
  base::Vector<Region> together;  // all ranges of one array that are overwritten
  const Memory* overwritten = nullptr;
  // Saving a value of one range may overwrite the other holder of a value that a second range holds. So after a save all ranges
  // are checked again.
  std::uint64_t saves = 0;
  do {
    saves = transfers_.saves();
    for (std::size_t i = 0; i < count; ++i) {
      const Requirement& r = requirements[i];
      if (!writes(r.mode)) continue;
      if (count > 1 && std::exchange(overwritten, r.memory) != r.memory) {
        together.clear();
        for (std::size_t k = 0; k < count; ++k) {
          if (writes(requirements[k].mode) && requirements[k].memory == r.memory) together.push_back(requirements[k].range);
        }
      }
      if (const Obstacle o = save(*r.memory, r.range, together)) return o;
    }
  } while (saves != transfers_.saves());
  for (std::size_t i = 0; i < count; ++i) {  // all transfers have been submitted
    const Requirement& r = requirements[i];
    if (const Obstacle o = hazards_.busy(*r.memory, r.range, mode_of(writes(r.mode)))) return o;
  }
  return {};
}

}  // namespace semcache::engine
