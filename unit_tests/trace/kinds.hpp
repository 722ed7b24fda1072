// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/trace/recorder.hpp>

namespace semcache::trace {

#define SEMCACHE_KIND(name) {Kind::name, #name, &Counters::name},
/// Each kind of traffic, its name in reports and its field.
inline constexpr struct {
  Kind kind;
  const char* name;
  Traffic Counters::* field;
} all_traffic[] = {SEMCACHE_TRAFFIC(SEMCACHE_KIND)};
#undef SEMCACHE_KIND

}  // namespace semcache::trace
