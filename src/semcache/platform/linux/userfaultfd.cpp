// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/maps.hpp>
#include <semcache/platform/linux/userfaultfd.hpp>
#include <semcache/platform/platform.hpp>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#ifndef UFFD_FEATURE_EXACT_ADDRESS  // Linux 5.18
#define UFFD_FEATURE_EXACT_ADDRESS (1 << 11)
#endif
#ifndef USERFAULTFD_IOC_NEW  // Linux 6.1
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

namespace semcache::platform::detail {
namespace {

/// Opens a userfaultfd without UFFD_USER_MODE_ONLY, because faults of the kernel on behalf of a thread are wanted too.
int open_descriptor() {
  const int descriptor = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
  if (descriptor >= 0) return descriptor;
  const int error = errno;
  if (error == ENOSYS) refuse_userfaultfd("this kernel has no userfaultfd (CONFIG_USERFAULTFD)");
  // The device file grants access by its own permissions.
  if (const int device = ::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC); device >= 0) {
    const int granted = ::ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
    ::close(device);
    if (granted >= 0) return granted;
  }
  refuse_userfaultfd(std::string("the system refuses userfaultfd (") + std::strerror(error) +
         "). It is permitted by the kernel parameter vm.unprivileged_userfaultfd=1, by access to the file "
         "/dev/userfaultfd, or by the capability CAP_SYS_PTRACE; a container may forbid the system call itself");
}

/// Calls `call(begin, bytes)`; where the kernel accepts one mapping at a time, calls it for each mapping.
template <class Call>
int by_mapping(std::uintptr_t begin, std::uint64_t bytes, const Call& call) noexcept {
  int error = call(begin, bytes);
  if (error != ENOENT) return error;
  while (bytes > 0) {
    Mapping mapping;
    if (!find_mapping(begin, mapping)) return ENOENT;
    const std::uint64_t n = std::min<std::uint64_t>(bytes, mapping.end - begin);
    error = call(begin, n);
    if (error != 0) return error;
    begin += n;
    bytes -= n;
  }
  return 0;
}

}  // namespace

void refuse_userfaultfd(const std::string& why) {
  throw ConfigurationError("SEMCACHE_TRACKER=userfaultfd cannot be used: " + why +
                           ". SEMCACHE_TRACKER=mprotect needs none of it.");
}

Userfaultfd::Userfaultfd() : descriptor_(open_descriptor()) {
  constexpr std::uint64_t needed = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_THREAD_ID;
  int error = 0;
  // Before Linux 5.18 a fault reports only its page's address, so messages are less exact.
  for (const std::uint64_t features : {needed | UFFD_FEATURE_EXACT_ADDRESS, needed}) {
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = features;
    const bool accepted = ::ioctl(descriptor_, UFFDIO_API, &api) == 0;
    // Some kernels accept a feature that their processor lacks, and leave it out of their answer.
    if (accepted && (api.features & needed) == needed) return;
    error = accepted ? EINVAL : errno;
    if (accepted) break;  // a descriptor is answered once
  }
  forget();
  if (error == EINVAL) refuse_userfaultfd("this kernel reports no write-protected pages (Linux 5.7 and later do)");
  refuse_userfaultfd(std::string("the kernel refuses its interface (UFFDIO_API: ") + std::strerror(error) + ")");
}

void Userfaultfd::forget() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void Userfaultfd::take(base::Vector<Fault>& faults) {
  uffd_msg messages[16];
  for (;;) {
    const ssize_t n = ::read(descriptor_, messages, sizeof messages);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) throw SystemError(std::string("userfaultfd cannot be read: ") + std::strerror(n < 0 ? errno : EIO));
    const std::size_t count = static_cast<std::size_t>(n) / sizeof messages[0];
    for (std::size_t i = 0; i < count; ++i) {
      if (messages[i].event != UFFD_EVENT_PAGEFAULT) continue;
      const auto& fault = messages[i].arg.pagefault;
      constexpr std::uint64_t writing = UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP;
      faults.push_back({static_cast<std::uintptr_t>(fault.address), (fault.flags & writing) != 0,
                        static_cast<int>(fault.feat.ptid)});
    }
    if (count < std::size(messages)) return;
  }
}

int Userfaultfd::watch(std::uintptr_t begin, std::uint64_t bytes) noexcept {
  uffdio_register range{};
  range.range = {begin, bytes};
  range.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
  return ::ioctl(descriptor_, UFFDIO_REGISTER, &range) == 0 ? 0 : errno;
}

int Userfaultfd::unwatch(std::uintptr_t begin, std::uint64_t bytes) noexcept {
  uffdio_range range{begin, bytes};
  if (::ioctl(descriptor_, UFFDIO_UNREGISTER, &range) != 0) return errno;
  wake(begin, bytes);
  return 0;
}

int Userfaultfd::write_protect(std::uintptr_t begin, std::uint64_t bytes) noexcept {
  return by_mapping(begin, bytes, [this](std::uintptr_t at, std::uint64_t n) {
    uffdio_writeprotect range{};
    range.range = {at, n};
    range.mode = UFFDIO_WRITEPROTECT_MODE_WP;
    while (::ioctl(descriptor_, UFFDIO_WRITEPROTECT, &range) != 0) {
      if (errno != EAGAIN) return errno;
    }
    return 0;
  });
}

int Userfaultfd::copy(std::uintptr_t to, const void* from, std::uint64_t bytes) noexcept {
  const std::uintptr_t source = reinterpret_cast<std::uintptr_t>(from);
  std::uint64_t done = 0;  // includes the part of a call that then met the end of a mapping
  return by_mapping(to, bytes, [&](std::uintptr_t at, std::uint64_t n) {
    while (to + done < at + n) {
      uffdio_copy step{};
      step.dst = to + done;
      step.src = source + done;
      step.len = at + n - step.dst;
      step.mode = UFFDIO_COPY_MODE_DONTWAKE | UFFDIO_COPY_MODE_WP;
      const bool all = ::ioctl(descriptor_, UFFDIO_COPY, &step) == 0;
      const int error = errno;
      if (step.copy > 0) done += static_cast<std::uint64_t>(step.copy);
      if (!all && error != EAGAIN) return error;
    }
    return 0;
  });
}

void Userfaultfd::wake(std::uintptr_t begin, std::uint64_t bytes) noexcept {
  uffdio_range range{begin, bytes};
  (void)::ioctl(descriptor_, UFFDIO_WAKE, &range);
}

}  // namespace semcache::platform::detail
