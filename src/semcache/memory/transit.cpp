// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/memory/memory.hpp>
#include <semcache/memory/transit.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace semcache::memory {

void TransitBuffer::allocate() {
  if (on_device()) {
    memory = {device.allocate(bytes), [&d = device](std::byte* p) { d.deallocate(p); }};
  } else if (pooled) {
    memory = {device.allocate_staging(bytes), [&d = device](std::byte* p) { d.deallocate_staging(p); }};
  } else {
    memory = {static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), std::free};
    if (memory == nullptr) throw OutOfMemory("no host memory for a message of " + std::to_string(bytes) + " bytes. Free memory of the host, or send less at a time", bytes, 0);
  }
  address = memory.get();
}

void TransitBuffer::expect_nothing() noexcept {
  brought.reset();
  if (expected == nullptr) return;
  base::Vector<TransitBuffer*>& list = expected->expected_in;
  list.erase(std::find(list.begin(), list.end(), this));
  expected = nullptr;
}

}  // namespace semcache::memory
