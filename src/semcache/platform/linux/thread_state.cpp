// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/platform.hpp>

#include <atomic>

namespace semcache::platform {
namespace detail {
namespace {

// The attribute keeps the storage in the block that every thread has from its start, in shared libraries too.
__attribute__((tls_model("initial-exec"))) thread_local ThreadState state_of_this_thread;

std::atomic<LabelLookup> label_lookup{nullptr};

}  // namespace

ThreadState& thread_state() noexcept { return state_of_this_thread; }

const char* tracked_label(const void* address) noexcept {
  const LabelLookup lookup = label_lookup.load(std::memory_order_acquire);
  return lookup != nullptr ? lookup(address) : nullptr;
}

const char* label_of(const void* address) noexcept {
  const char* const label = tracked_label(address);
  return label != nullptr ? label : "(no label)";
}

}  // namespace detail

RuntimeScope::RuntimeScope() noexcept { ++detail::thread_state().runtime_depth; }
RuntimeScope::~RuntimeScope() { --detail::thread_state().runtime_depth; }

void set_label_lookup(LabelLookup lookup) noexcept { detail::label_lookup.store(lookup, std::memory_order_release); }

}  // namespace semcache::platform
