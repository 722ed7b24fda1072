// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/platform/linux/driver_text.hpp>

#include <link.h>

#include <cstring>

namespace semcache::platform::detail {
namespace {

const char* file_name(const char* path) noexcept {
  if (path == nullptr) return "";
  const char* const slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

bool starts_with(const char* text, const char* prefix) noexcept {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

}  // namespace

void DriverText::Ranges::add(std::uintptr_t begin, std::uintptr_t end) noexcept {
  const std::size_t n = count_.load(std::memory_order_relaxed);
  if (n == most) return;
  begin_[n].store(begin, std::memory_order_relaxed);
  end_[n].store(end, std::memory_order_relaxed);
  count_.store(n + 1, std::memory_order_release);
}

bool DriverText::Ranges::contain(std::uintptr_t address) const noexcept {
  const std::size_t n = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < n; ++i)
    if (begin_[i].load(std::memory_order_relaxed) <= address && address < end_[i].load(std::memory_order_relaxed))
      return true;
  return false;
}

struct DriverText::Loaded {
  static int collect(dl_phdr_info* info, std::size_t, void* out) {
    auto& self = *static_cast<DriverText*>(out);
    const char* const name = file_name(info->dlpi_name);
    Ranges* ranges = nullptr;
    if (starts_with(name, "libcuda.so")) ranges = &self.driver_;
    if (starts_with(name, "libc.so") || starts_with(name, "libc-2.")) ranges = &self.c_library_;
    if (ranges == nullptr) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& header = info->dlpi_phdr[i];
      if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
      const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
      ranges->add(begin, begin + header.p_memsz);
    }
    return 0;
  }
};

void DriverText::refresh() noexcept {
  const std::uint64_t objects = base::loads_of_objects();
  if (objects == objects_seen_) return;
  driver_.clear();
  c_library_.clear();
  ::dl_iterate_phdr(&Loaded::collect, this);
  objects_seen_ = objects;
}

bool DriverText::made(const FaultContext& fault) const noexcept {
  return driver_.contain(fault.instruction) ||
         (c_library_.contain(fault.instruction) && driver_.contain(fault.return_address));
}

}  // namespace semcache::platform::detail
