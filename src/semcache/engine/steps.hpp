// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/state.hpp>

/// How the engine's parts write down steps and the two ends of a copy.
namespace semcache::engine {

using memory::end_at;

/// Returns an end in memory that belongs to no array.
/// @param last_use  is set to the work that uses the memory
/// @param label  of the array whose bytes are copied
[[nodiscard]] inline plan::End elsewhere(SpaceId space, const void* address, timeline::Work* last_use = nullptr,
                                         trace::LabelId label = {}) noexcept {
  return {space, {}, 0, const_cast<std::byte*>(static_cast<const std::byte*>(address)), label, last_use};
}

/// Returns an end in a buffer of the engine's own.
[[nodiscard]] inline plan::End within(TransitBuffer& buffer, const std::byte* address) noexcept {
  plan::End end = elsewhere(buffer.space, address, &buffer.last_use);
  end.in_buffer = true;
  return end;
}

[[nodiscard]] inline plan::Step copy_step(plan::Purpose purpose, const plan::End& to, const plan::End& from,
                                          std::uint64_t bytes) noexcept {
  return {plan::Step::Kind::copy, purpose, to, from, bytes};
}

/// Returns the copy of all columns of a region. @param what  its width and columns; the ends have the pitches
[[nodiscard]] inline plan::Step copy_step(plan::Purpose purpose, const plan::End& to, const plan::End& from, const Region& what) noexcept {
  plan::Step step = copy_step(purpose, to, from, what.width);
  step.columns = what.columns;
  return step;
}

/// Returns a step that concerns a whole array.
[[nodiscard]] inline plan::Step step_of(plan::Step::Kind kind, const Memory& m) noexcept {
  return {kind, plan::Purpose::fetch, end_at(m, m.positions().begin), {}, m.bytes};
}

/// Returns a step that concerns a block of an array's device memory.
[[nodiscard]] inline plan::Step step_of(plan::Step::Kind kind, const ArrayBlock& block) noexcept {
  const Memory& m = *block.memory;
  const ByteRange where = m.blocks.range(block.index);
  const plan::End end{m.space, m.slot, where.begin, m.address + where.begin, m.label, nullptr, m.snapshot()};
  return {kind, plan::Purpose::fetch, end, {}, where.size()};
}

}  // namespace semcache::engine
