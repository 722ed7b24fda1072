// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/tally.hpp>

#include <semcache/semcache.hpp>

namespace minife {

/// Returns the runtime's counts since it started, as a Tally.
[[nodiscard]] inline Tally tally_of_statistics() {
  const semcache::Counters c = semcache::statistics().total;
  const auto traffic = [](const semcache::Traffic& t) { return Traffic{t.bytes, t.count}; };
  Tally t;
  t.h2d = traffic(c.h2d);
  t.d2h = traffic(c.d2h);
  t.d2d = traffic(c.d2d);
  t.saved_link = traffic(c.saved_link);
  t.saved_device = traffic(c.saved_device);
  t.avoided = traffic(c.avoided);
  t.between_devices = traffic(c.between_devices);
  t.host_faults = c.host_faults;
  t.evictions = c.evictions;
  t.unknown_launches = c.unknown_launches;
  t.peer_launches = c.peer_launches;
  return t;
}

}  // namespace minife
