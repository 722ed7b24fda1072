// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <cstdio>
#include <vector>

/// Sends an array to the device and back, through the installed library.
int main() {
  constexpr std::size_t count = 100000;
  constexpr std::size_t bytes = count * sizeof(int);
  std::vector<int> sent(count), received(count);
  for (std::size_t i = 0; i < count; ++i) sent[i] = static_cast<int>(i);

  void* device = semcache::runtime::allocate_device("consumer", bytes);
  semcache::runtime::copy(device, sent.data(), bytes, {});
  semcache::runtime::copy(received.data(), device, bytes, {});
  const bool tracked = semcache::is_tracked(device) && !semcache::is_tracked(sent.data());
  const semcache::Statistics statistics = semcache::statistics();
  semcache::runtime::deallocate(device);
  semcache::finalize();

  const bool moved = statistics.total.h2d.bytes == bytes && statistics.total.d2h.bytes == bytes;
  if (received == sent && tracked && moved) return 0;
  std::fprintf(stderr, "same content: %d, tracked: %d, moved: %d\n", received == sent, tracked, moved);
  return 1;
}
