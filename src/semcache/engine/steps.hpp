// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/ends.hpp>
#include <semcache/memory/transit.hpp>

/// Steps, and their ends, as the engine's parts write them down.
namespace semcache::engine {

using memory::end_at;
using memory::Memory;
using memory::TransitBuffer;

/// Memory that is no array's. @param last_use  set to the work that uses it
/// @param label  of the array whose bytes these are
[[nodiscard]] inline plan::End elsewhere(SpaceId space, const void* address, timeline::Work* last_use = nullptr,
                                         trace::LabelId label = {}) noexcept {
  return {space, {}, 0, const_cast<std::byte*>(static_cast<const std::byte*>(address)), label, last_use};
}

[[nodiscard]] inline plan::End within(TransitBuffer& buffer, const std::byte* address) noexcept {
  plan::End end = elsewhere(buffer.on_device ? device_space(0) : host_space, address, &buffer.last_use);
  end.in_buffer = true;
  return end;
}

[[nodiscard]] inline plan::Step copy_step(plan::Purpose purpose, const plan::End& to, const plan::End& from,
                                          std::uint64_t bytes) noexcept {
  return {plan::Step::Kind::copy, purpose, to, from, bytes};
}

/// Of a whole array.
[[nodiscard]] inline plan::Step step_of(plan::Step::Kind kind, const Memory& m) noexcept {
  return {kind, plan::Purpose::fetch, end_at(m, 0), {}, m.bytes};
}

}  // namespace semcache::engine
