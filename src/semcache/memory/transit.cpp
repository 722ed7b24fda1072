// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/memory/memory.hpp>
#include <semcache/memory/transit.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace semcache::memory {

void TransitBuffer::allocate() {
  if (on_device) {
    address = device.allocate(bytes);
  } else if (pooled) {
    address = device.allocate_staging(bytes);
  } else {
    address = static_cast<std::byte*>(std::aligned_alloc(4096, bytes));
    if (address == nullptr) {
      throw OutOfMemory("no host memory for a message of " + std::to_string(bytes) + " bytes", bytes, 0);
    }
  }
}

void TransitBuffer::expect_nothing() noexcept {
  brought.reset();
  if (expected == nullptr) return;
  std::vector<TransitBuffer*>& list = expected->expected_in;
  list.erase(std::find(list.begin(), list.end(), this));
  expected = nullptr;
}

TransitBuffer::~TransitBuffer() {
  if (address == nullptr || block != nullptr) return;
  if (!pooled) {
    std::free(address);
  } else if (on_device) {
    device.deallocate(address);
  } else {
    device.deallocate_staging(address);
  }
}

}  // namespace semcache::memory
