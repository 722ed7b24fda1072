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
  } else {
    memory = {device.allocate_staging(bytes), [&d = device](std::byte* p) { d.deallocate_staging(p); }};
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
