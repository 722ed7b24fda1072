// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// many_events N: a program of N launches. Before every hundredth one the host writes the array, so that a page fault and a transfer come, too.
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  namespace runtime = semcache::runtime;
  if (argc != 2) return std::fputs("usage: many_events N\n", stderr), 2;
  const long launches = std::atol(argv[1]);
  constexpr std::size_t bytes = 4096;
  const auto queue = runtime::queue_of(nullptr);
  auto* const device = static_cast<unsigned char*>(runtime::allocate_device("A", bytes));
  auto* const host = static_cast<unsigned char*>(runtime::allocate_host("A_mirror", bytes));
  const runtime::Capture written{device, nullptr, 0, true, false};
  for (long i = 0; i < launches; ++i) {
    if (i % 100 == 0) {
      host[0] = static_cast<unsigned char>(i / 100);
      runtime::copy(device, host, bytes, {});
    }
    const runtime::Launch launch(queue, "adds one", &written, 1);
    ++device[0];
  }
  runtime::copy(host, device, bytes, {});
  std::printf("%d\n", host[0]);
  runtime::deallocate(host);
  runtime::deallocate(device);
  semcache::finalize();
}
