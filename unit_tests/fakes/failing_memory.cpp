// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/failing_memory.hpp>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

bool fails() noexcept {
  using namespace semcache::fakes;
  return allocations_until_failure >= 0 && failures_paused == 0 && allocations_until_failure-- == 0;
}

bool malloc_fails() noexcept {
  if (semcache::fakes::failures_paused == 0) ++semcache::fakes::malloc_calls;
  return fails();
}

void* checked(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

std::size_t rounded(std::size_t n, std::align_val_t a) {
  const auto unit = static_cast<std::size_t>(a);
  return (n + unit - 1) / unit * unit;
}

}  // namespace

extern "C" {
// With --wrap=calloc, --wrap=aligned_alloc and --wrap=_ZN8semcache4base11take_memoryEmm (`base::take_memory`) the objects of a static library
// call these.
void* __real_calloc(std::size_t n, std::size_t bytes);                // NOLINT: the linker's names
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);  // NOLINT
void* __wrap_calloc(std::size_t n, std::size_t bytes) { return malloc_fails() ? nullptr : __real_calloc(n, bytes); }  // NOLINT
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {  // NOLINT
  return malloc_fails() ? nullptr : __real_aligned_alloc(alignment, bytes);
}
void* __real__ZN8semcache4base11take_memoryEmm(std::size_t bytes, std::size_t alignment);  // NOLINT
void* __wrap__ZN8semcache4base11take_memoryEmm(std::size_t bytes, std::size_t alignment) {  // NOLINT
  if (fails()) throw std::bad_alloc();
  return __real__ZN8semcache4base11take_memoryEmm(bytes, alignment);
}
}

void* operator new(std::size_t n) {
  if (malloc_fails()) throw std::bad_alloc();
  return checked(std::malloc(n != 0 ? n : 1));
}
void* operator new(std::size_t n, std::align_val_t a) {
  if (malloc_fails()) throw std::bad_alloc();
  return checked(__real_aligned_alloc(static_cast<std::size_t>(a), rounded(n != 0 ? n : 1, a)));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return malloc_fails() ? nullptr : std::malloc(n != 0 ? n : 1); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
