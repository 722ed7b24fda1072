// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A plugin that uses SemCache, in a copy of its own or in libsemcache.so: loaded by loader.cpp.
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <cstring>
#include <string>

namespace {
std::string error;
}

/// A mirror of `bytes` bytes that a kernel's `value` has to be fetched into at the first access; nullptr: plugin_error().
extern "C" __attribute__((visibility("default"))) unsigned char* plugin_stale_mirror(std::size_t bytes, int value) {
  using namespace semcache;
  try {
    const QueueId queue = runtime::queue_of(nullptr);
    void* const device = runtime::allocate_device("device", bytes);
    void* const mirror = runtime::allocate_host("mirror", bytes, device, base::Accesses::watched);
    const runtime::Capture capture{device, nullptr, 0, true, false};
    {
      const runtime::Launch launch(queue, "kernel", &capture, 1);
      std::memset(device, value, bytes);
    }
    return static_cast<unsigned char*>(mirror);
  } catch (const std::exception& e) {
    error = e.what();
    return nullptr;
  }
}

extern "C" __attribute__((visibility("default"))) const char* plugin_error() { return error.c_str(); }
