// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/per_thread.hpp>
#include <semcache/runtime/configuration.hpp>
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.h>
#include <semcache/semcache.hpp>
#include <semcache/trace/recorder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <vector>

namespace {

using namespace semcache;

// A fixed buffer needs no destructor, so it can be read while a thread or the process ends; and it needs no memory, so a failure
// to allocate can still be reported.
struct LastError {
  char text[4096] = "";
};

semcache_status fail(semcache_status status, const char* text) noexcept {
  static constexpr char cut[] = " ...";
  auto& last_error = platform::per_thread<LastError>().text;
  const std::size_t length = std::strlen(text);
  std::memmove(last_error, text, std::min(length + 1, sizeof last_error));
  if (length >= sizeof last_error) std::memcpy(std::end(last_error) - sizeof cut, cut, sizeof cut);
  return status;
}

/// Runs `body` and turns any exception into a status, because callers in C cannot catch.
template <class Body>
semcache_status guarded(Body&& body) noexcept {
  try {
    body();
    return SEMCACHE_SUCCESS;
  } catch (const UsageError& e) {
    return fail(SEMCACHE_ERROR_USAGE, e.what());
  } catch (const ConfigurationError& e) {
    return fail(SEMCACHE_ERROR_CONFIGURATION, e.what());
  } catch (const OutOfMemory& e) {
    return fail(SEMCACHE_ERROR_OUT_OF_MEMORY, e.what());
  } catch (const DeviceError& e) {
    return fail(SEMCACHE_ERROR_DEVICE, e.what());
  } catch (const SystemError& e) {
    return fail(SEMCACHE_ERROR_SYSTEM, e.what());
  } catch (const std::bad_alloc&) {
    return fail(SEMCACHE_ERROR_OUT_OF_MEMORY, "host memory is exhausted");
  } catch (const std::exception& e) {
    return fail(SEMCACHE_ERROR_INTERNAL, e.what());
  } catch (...) {
    return fail(SEMCACHE_ERROR_INTERNAL, "an exception of an unknown type");
  }
}

Access access_of(int mode) {
  static_assert(SEMCACHE_READ == int(Access::read) && SEMCACHE_WRITE == int(Access::write) &&
                SEMCACHE_READ_WRITE == int(Access::read_write) && SEMCACHE_OVERWRITE == int(Access::overwrite));
  SEMCACHE_EXPECTS(mode >= SEMCACHE_READ && mode <= SEMCACHE_OVERWRITE,
                   "semcache_access, semcache_access_2d: mode " + std::to_string(mode) + " does not exist. Use SEMCACHE_READ, SEMCACHE_WRITE, "
                   "SEMCACHE_READ_WRITE or SEMCACHE_OVERWRITE");
  return static_cast<Access>(mode);
}

semcache_statistics_t in_c(const Statistics& s) noexcept {
  const Counters& t = s.total;
  semcache_statistics_t c{};
  c.size = sizeof c;
#define SEMCACHE_SET_TRAFFIC(name) c.name = {t.name.bytes, t.name.count};
#define SEMCACHE_SET_EVENTS(name) c.name = t.name;
  SEMCACHE_TRAFFIC(SEMCACHE_SET_TRAFFIC)
  SEMCACHE_EVENTS(SEMCACHE_SET_EVENTS)
  c.launches = t.launches;
  c.unknown_launches = t.unknown_launches;
  c.native_launches = t.native_captures;
  c.device_waits = t.device_waits;
  c.live_device_bytes = s.live_device_bytes;
  c.live_host_bytes = s.live_host_bytes;
  c.mapped_device_bytes = s.mapped_device_bytes;
  c.snapshot_bytes = s.snapshot_bytes;
  c.directory_bytes = s.directory_bytes;
  c.device_budget_bytes = s.device_budget_bytes;
  c.native_captures = t.native_captures;
  return c;
}

template <class Allocate>
semcache_status allocate(void** result, const char* function, Allocate&& body) noexcept {
  if (result != nullptr) *result = nullptr;
  return guarded([&] {
    SEMCACHE_EXPECTS(result != nullptr, std::string(function) + ": the pointer to the result is null. Give the address of a pointer");
    *result = body();
  });
}

}  // namespace

extern "C" {

int semcache_version(void) noexcept {
  return 10000 * SEMCACHE_VERSION_MAJOR + 100 * SEMCACHE_VERSION_MINOR + SEMCACHE_VERSION_PATCH;
}

const char* semcache_status_name(int status) noexcept {
  switch (status) {
    case SEMCACHE_SUCCESS: return "success";
    case SEMCACHE_ERROR_USAGE: return "usage error";
    case SEMCACHE_ERROR_CONFIGURATION: return "configuration error";
    case SEMCACHE_ERROR_OUT_OF_MEMORY: return "out of memory";
    case SEMCACHE_ERROR_DEVICE: return "device error";
    case SEMCACHE_ERROR_SYSTEM: return "system error";
    case SEMCACHE_ERROR_INTERNAL: return "internal error";
    default: return "unknown status";
  }
}

const char* semcache_last_error(void) noexcept { return platform::per_thread<LastError>().text; }

semcache_status semcache_access(const void* address, size_t bytes, int mode) noexcept {
  return guarded([&] { semcache::access(address, bytes, access_of(mode)); });
}

semcache_status semcache_prefetch(const void* address, size_t bytes) noexcept {
  return guarded([&] { semcache::prefetch(address, bytes); });
}

semcache_status semcache_access_2d(const void* address, size_t pitch, size_t width, size_t columns, int mode) noexcept {
  return guarded([&] { semcache::access_2d(address, pitch, width, columns, access_of(mode)); });
}

semcache_status semcache_settle(const void* address, size_t bytes) noexcept {
  return guarded([&] { semcache::settle(address, bytes); });
}

semcache_status semcache_settle_all(void) noexcept {
  return guarded([] { semcache::settle(); });
}

semcache_status semcache_statistics(struct semcache_statistics_t* out) noexcept {
  return guarded([&] {
    SEMCACHE_EXPECTS(out != nullptr, "semcache_statistics: the argument is null. Give the address of a struct semcache_statistics_t");
    constexpr std::size_t least = offsetof(semcache_statistics_t, d2h);
    SEMCACHE_EXPECTS(out->size >= least, "semcache_statistics: set size to sizeof(struct semcache_statistics_t) before the "
                                         "call; it is " + std::to_string(out->size));
    semcache_statistics_t filled = in_c(semcache::statistics());
    filled.size = out->size < sizeof filled ? out->size : sizeof filled;
    std::memcpy(out, &filled, filled.size);
  });
}

int semcache_is_tracked(const void* address) noexcept { return semcache::is_tracked(address) ? 1 : 0; }

semcache_status semcache_allocate_device(const char* label, size_t bytes, void** result) noexcept {
  return allocate(result, "semcache_allocate_device",
                  [&] { return runtime::allocate_device(label != nullptr ? label : "", bytes); });
}

semcache_status semcache_allocate_on_device(const char* label, size_t bytes, int device, void** result) noexcept {
  return allocate(result, "semcache_allocate_on_device", [&] {
    SEMCACHE_EXPECTS(device >= 0, "semcache_allocate_on_device: " + std::to_string(device) + " is no device. They count from 0 (semcache_device_count)");
    return runtime::allocate_device(label != nullptr ? label : "", bytes, static_cast<std::uint32_t>(device));
  });
}

semcache_status semcache_allocate_host(const char* label, size_t bytes, const void* partner, void** result) noexcept {
  return allocate(result, "semcache_allocate_host",
                  [&] { return runtime::allocate_host(label != nullptr ? label : "", bytes, partner); });
}

void semcache_deallocate(void* address) noexcept {
  if (address != nullptr) runtime::deallocate(address);
}

semcache_status semcache_adopt(void* address, size_t bytes, const char* label) noexcept {
  return guarded([&] { runtime::adopt(address, bytes, label); });
}

semcache_status semcache_release(void* address) noexcept {
  return guarded([&] { runtime::release(address); });
}

semcache_status semcache_copy(void* to, const void* from, size_t bytes) noexcept {
  return guarded([&] {
    if (bytes == 0) return;
    SEMCACHE_EXPECTS(to != nullptr && from != nullptr, "semcache_copy: a null pointer with " + std::to_string(bytes) + " bytes. Only a copy of 0 bytes may have one");
    runtime::copy(to, from, bytes, QueueId{});  // no queue: after all work so far
  });
}

semcache_status semcache_copy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t columns) noexcept {
  return guarded([&] {
    if (width == 0 || columns == 0) return;
    SEMCACHE_EXPECTS(to != nullptr && from != nullptr,
                     "semcache_copy_2d: a null pointer with " + std::to_string(columns) + " columns of " + std::to_string(width) +
                         " bytes. Only a copy of nothing may have one");
    runtime::copy_2d(to, to_pitch, from, from_pitch, width, columns, QueueId{});
  });
}

semcache_status semcache_use_devices(const int* devices, size_t count) noexcept {
  static_assert(SEMCACHE_THE_HOST == the_host);
  return guarded([&] {
    if (count > runtime::max_devices + 1) {  // the host is no device
      throw ConfigurationError("semcache_use_devices: " + std::to_string(count) + " devices cannot be used, at most " +
                               std::to_string(runtime::max_devices) + " can");
    }
    if (devices == nullptr) return semcache::use_devices(static_cast<int>(count));
    semcache::use_devices(std::vector<int>(devices, devices + count));
  });
}

int semcache_device_count(void) noexcept { return semcache::device_count(); }

semcache_status semcache_finalize(void) noexcept {
  return guarded([] { semcache::finalize(); });
}

}  // extern "C"
