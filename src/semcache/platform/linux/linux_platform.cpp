// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/patience.hpp>
#include <semcache/platform/linux/linux_platform.hpp>
#include <semcache/platform/linux/maps.hpp>
#include <semcache/platform/linux/thread_state.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <utility>

namespace semcache::platform {
namespace {

constexpr std::uint64_t address_alignment = std::uint64_t{2} << 20;
constexpr std::uint64_t usual_mapping_limit = 65530;

std::uint64_t read_mapping_limit() {
  const std::uint64_t limit = base::first_number("/proc/sys/vm/max_map_count", "%llu");
  return (limit != 0 ? limit : usual_mapping_limit) / 2;
}

std::uintptr_t read_lowest_address() {
  constexpr std::uint64_t first_program_address = 4ULL << 20;
  return std::min(base::first_number("/proc/self/maps", "%llx"), first_program_address);
}

int to_system(Protection protection) {
  constexpr int accesses[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};
  return accesses[static_cast<int>(protection)];
}

std::string system_text(int error) { return std::string(std::strerror(error)); }

/// Reads or writes `/proc/self/mem` by system calls until all bytes are done. It does not use the C library's functions, because
/// a preloaded library may have replaced them by ones that call us.
void move_behind(long call, int file, std::uintptr_t own, std::uintptr_t behind, std::uint64_t bytes) {
  while (bytes > 0) {
    const long n = ::syscall(call, file, own, bytes, behind);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : EIO;
      throw SystemError(std::string(call == SYS_pread64 ? "a read" : "a write") + " of " + std::to_string(bytes) + " bytes at " +
                        base::text_of(pointer(behind)) + " through /proc/self/mem failed: " + system_text(error) +
                        "; SemCache needs it to fill protected pages (kernel parameter proc_mem.force_override, or a "
                        "sandbox, may forbid it). Use SEMCACHE_TRACKER=explicit");
    }
    own += static_cast<std::uintptr_t>(n);
    behind += static_cast<std::uintptr_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
}

/// Maps memory aligned to `address_alignment`; returns nullptr where the system refuses.
void* map_aligned(std::uint64_t bytes, int accesses) noexcept {
  // Maps one alignment unit more than needed, and unmaps the rest in front and behind.
  void* const got =
      ::mmap(nullptr, bytes + address_alignment, accesses, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  const std::uintptr_t begin = number(got);
  const std::uintptr_t base = round_up(begin, address_alignment);
  if (base > begin) ::munmap(got, base - begin);
  if (const std::uintptr_t rest = begin + address_alignment - base; rest > 0) ::munmap(pointer(base + bytes), rest);
  return pointer(base);
}

/// Returns whether the addresses are static data of the program or of a library.
bool is_data_of_object(std::uintptr_t begin, std::uintptr_t end) {
  bool is = false;
  detail::for_each_segment([&](const detail::Segment& s) noexcept {
    is = is || (s.type == PT_LOAD && (s.flags & PF_W) != 0 && s.begin <= begin && end <= s.end);
  });
  return is;
}

}  // namespace

LinuxPlatform::LinuxPlatform()
    : page_bytes_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))),
      mapping_limit_(read_mapping_limit()),
      lowest_address_(read_lowest_address()) {}

LinuxPlatform::~LinuxPlatform() {
  const std::uint64_t word = memory_file_.load();
  if (word != 0) ::close(static_cast<int>(word & 0xffffffffU) - 1);
}

std::uint64_t LinuxPlatform::mapping_count() const {
  std::uint64_t lines = 0;
  if (std::FILE* const file = std::fopen("/proc/self/maps", "re")) {
    char buffer[16384];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file)) {
      lines += static_cast<std::uint64_t>(std::count(buffer, buffer + n, '\n'));
    }
    std::fclose(file);
  }
  return lines;
}

void LinuxPlatform::write_unused(std::byte* to, const std::byte* from, std::uint64_t bytes, Protection protection) {
  const base::TakesTime work;
  // The content is filled in elsewhere, protected there, and moved into place in one step, so that no thread sees it half done.
  const std::uint64_t begin = round_up(number(to), address_alignment) - number(to);
  const std::uint64_t end = round_down(number(to) + bytes, address_alignment) - number(to);
  const std::uint64_t size = begin < end ? end - begin : 0;
  void* const room = bytes >= address_alignment && size > 0 ? map_aligned(size, PROT_READ | PROT_WRITE) : nullptr;
  if (room == nullptr) return write_behind(to, from, bytes);
  ::madvise(room, size, MADV_HUGEPAGE);
  std::memcpy(room, from + begin, size);
  if (::mprotect(room, size, to_system(protection)) != 0 ||
      ::mremap(room, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to + begin) == MAP_FAILED) {
    ::munmap(room, size);
    return write_behind(to, from, bytes);
  }
  if (begin > 0) write_behind(to, from, begin);
  if (end < bytes) write_behind(to + end, from + end, bytes - end);
}

// --- addresses and protection ----------------------------------------------------------------------------------------

std::byte* reserve_addresses(std::uint64_t& bytes) {
  SEMCACHE_EXPECTS(bytes > 0, "0 bytes of addresses asked for");
  const std::uint64_t largest = base::end_of_addresses - address_alignment;
  for (std::uint64_t size = round_up(std::min(bytes, largest), address_alignment); size >= address_alignment;
       size = round_down(size / 2, address_alignment)) {
    void* const base = map_aligned(size, PROT_NONE);
    if (base == nullptr) continue;
    bytes = size;
    return static_cast<std::byte*>(base);
  }
  throw SystemError("the system gave no addresses (mmap: " + system_text(errno) +
                    "); raise the limit on virtual memory (ulimit -v)");
}

void LinuxPlatform::release(std::byte* base, std::uint64_t bytes) noexcept {
  if (base != nullptr && bytes > 0) ::munmap(base, bytes);
}

bool LinuxPlatform::protect(std::byte* address, std::uint64_t bytes, Protection protection) noexcept {
  const base::TakesTime work;
  if (bytes == 0 || ::mprotect(address, bytes, to_system(protection)) == 0) return true;
  const int error = errno;
  if (error == ENOMEM && !LinuxPlatform::is_mapped(address, bytes)) {
    // Whoever maps memory there next would find it protected, and filled with the content of what was there.
    base::fatal("'%s' at %p was unmapped (free, munmap, mremap) while SemCache had it: call semcache_release before that",
                detail::label_of(address), static_cast<void*>(address));
  }
  if (error == ENOMEM) {
    // The kernel goes mapping by mapping and may have changed the first ones before a later split met the limit.
    // If the first one still has another protection, nothing was changed; a single page is changed or not at all.
    detail::Mapping first;
    if (bytes <= page_bytes_) return false;
    const bool known = detail::find_mapping(number(address), first);
    const int now = (first.readable ? PROT_READ : 0) | (first.writable ? PROT_WRITE : 0);
    if (known && now != to_system(protection)) return false;
  }
  // I8: the protection of these pages is unknown now.
  base::fatal("mprotect of %zu bytes at %p in array '%s' failed with error %d%s", static_cast<std::size_t>(bytes),
              static_cast<void*>(address), detail::label_of(address), error,
              error == ENOMEM ? ": the kernel's limit on mappings was met half-way; raise vm.max_map_count" : "");
}

bool LinuxPlatform::is_mapped(const std::byte* address, std::uint64_t bytes) const noexcept {
  // This asks for nothing but a look at the mappings, and needs no file descriptor. Where it fails for another reason, nothing is known.
  return ::msync(const_cast<std::byte*>(address), bytes, MS_ASYNC) == 0 || errno != ENOMEM;
}

Protection LinuxPlatform::protection_at(const std::byte* address) const noexcept {
  detail::Mapping mapping;
  if (!detail::find_mapping(number(address), mapping)) return Protection::read_write;
  return !mapping.readable ? Protection::none : !mapping.writable ? Protection::read : Protection::read_write;
}

/// Is this a part of a mapping with MAP_GROWSDOWN? /proc/self/smaps says so, too ("gd"), but its text costs the kernel a look at every page of
/// the process (120 ms for each GiB of small pages), and this one call. The kernel refuses it with EINVAL, and does nothing, where the mapping
/// does not grow; where it does, the call repeats the protection that the mapping has.
static bool grows_downwards(std::uintptr_t first, std::uintptr_t page) noexcept {
  return ::mprotect(base::pointer(round_down(first, page)), page, PROT_READ | PROT_WRITE | PROT_GROWSDOWN) == 0;
}

std::string LinuxPlatform::why_not_adoptable(const std::byte* address, std::uint64_t bytes) const {
  const std::uintptr_t begin = number(address), end = begin + bytes;
  if (is_on_this_stack(begin, end)) return "on a stack";
  std::string maps;
  if (!detail::read_maps(maps)) return "in memory of which nothing is known, because /proc/self/maps cannot be read";
  return detail::why_not_adoptable(std::move(maps), begin, end, is_data_of_object,
                                   [this](std::uintptr_t first, std::uintptr_t) { return grows_downwards(first, page_bytes_); });
}

void LinuxPlatform::discard(std::byte* address, std::uint64_t bytes) noexcept {
  const base::TakesTime work;
  if (bytes == 0 || ::madvise(address, bytes, MADV_DONTNEED) == 0) return;
  // Locked pages (mlockall) cannot be dropped, but they can be cleared.
  try {
    static constexpr std::byte zeros[4096] = {};
    for (std::uint64_t done = 0; done < bytes; done += sizeof zeros)
      write_behind(address + done, zeros, std::min<std::uint64_t>(sizeof zeros, bytes - done));
  } catch (const std::exception& e) {
    base::fatal("pages of array '%s' at %p can be neither dropped nor cleared: %s. Do not lock the process's memory "
                "(mlockall)", detail::label_of(address), static_cast<void*>(address), e.what());
  }
}

void LinuxPlatform::advise_huge(std::byte* address, std::uint64_t bytes) noexcept {
  // Kernels without transparent huge pages refuse this advice, which does no harm.
  if (bytes > 0) (void)::madvise(address, bytes, MADV_HUGEPAGE);
}

// --- behind the protection -------------------------------------------------------------------------------------------

int LinuxPlatform::memory_file() {
  const auto process = static_cast<std::uint64_t>(static_cast<std::uint32_t>(::getpid()));
  std::uint64_t word = memory_file_.load(std::memory_order_acquire);
  if (word >> 32 == process && word != 0) return static_cast<int>(word & 0xffffffffU) - 1;
  const int file = ::open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (file < 0)
    throw SystemError("/proc/self/mem cannot be opened (" + system_text(errno) +
                      "); SemCache needs it to fill protected pages: mount /proc, or use SEMCACHE_TRACKER=explicit");
  const std::uint64_t mine = process << 32 | (static_cast<std::uint64_t>(file) + 1);
  if (memory_file_.compare_exchange_strong(word, mine, std::memory_order_acq_rel)) {
    if (word != 0) ::close(static_cast<int>(word & 0xffffffffU) - 1);  // the parent's
    return file;
  }
  ::close(file);  // another thread was faster
  return static_cast<int>(word & 0xffffffffU) - 1;
}

void LinuxPlatform::write_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  const base::TakesTime work;
  move_behind(SYS_pwrite64, memory_file(), number(from), number(to), bytes);
}

void LinuxPlatform::read_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  const base::TakesTime work;
  move_behind(SYS_pread64, memory_file(), number(to), number(from), bytes);
}

// --- page-locking ----------------------------------------------------------------------------------------------------

std::uint64_t LinuxPlatform::move_pages(std::uintptr_t from, std::uintptr_t to, std::uint64_t bytes) {
  constexpr int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  // Never moves several mappings at once, because older kernels unmap the target before they refuse.
  std::uint64_t moved = 0;
  while (moved < bytes) {
    detail::Mapping mapping;
    if (!detail::find_mapping(from + moved, mapping)) break;
    const std::uint64_t n = std::min<std::uint64_t>(bytes - moved, mapping.end - (from + moved));
    if (::mremap(pointer(from + moved), n, n, how, pointer(to + moved)) == MAP_FAILED) break;
    moved += n;
  }
  return moved;
}

std::byte* LinuxPlatform::lock_pages(std::byte* address, std::uint64_t bytes,
                                     const std::function<bool(std::byte*)>& lock) {
  // Before Linux 5.19 a page that is protected after it was pinned is copied at the next write, and the device keeps the
  // old copy.
  static const bool pins_last = [] {
    utsname system{};
    int major = 0, minor = 0;
    return ::uname(&system) == 0 && std::sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 19));
  }();
  if (!pins_last) return nullptr;
  // Huge pages move undivided where the two addresses have the same offset in them.
  const std::uintptr_t own = number(address);
  const std::uint64_t in_front = own % address_alignment;
  void* const room = map_aligned(in_front + bytes, PROT_NONE);
  if (room == nullptr) return nullptr;
  const std::uintptr_t other = number(room) + in_front;
  if (in_front > 0) ::munmap(room, in_front);

  const std::uint64_t moved = move_pages(own, other, bytes);
  const bool locked = moved == bytes && ::mprotect(pointer(other), bytes, PROT_READ | PROT_WRITE) == 0 &&
                      lock(static_cast<std::byte*>(pointer(other)));
  if (moved > 0 && (::mprotect(pointer(other), moved, PROT_NONE) != 0 || move_pages(other, own, moved) != moved)) {
    base::fatal("pages of array '%s' at %p could not be moved back to their place (error %d): the kernel's limit on mappings "
                "was met; raise vm.max_map_count", detail::label_of(address), static_cast<void*>(address), errno);
  }
  if (locked) return static_cast<std::byte*>(pointer(other));
  ::munmap(pointer(other), bytes);
  return nullptr;
}

void LinuxPlatform::forget_locked(std::byte* address, std::uint64_t bytes) noexcept { ::munmap(address, bytes); }

// --- what a pointer points to ----------------------------------------------------------------------------------------

/// Lists the read-only segments of loaded objects (text, constants), the segments made read-only after relocation, and all
/// segments of the system libraries. The latter do not know handles, so a pointer into them (a FILE*) leads to no array.
void LinuxPlatform::refresh_constants() const {
  const std::uint64_t objects = base::loads_of_objects();
  if (objects == objects_seen_) return;
  std::vector<Range> ranges;
  bool out_of_memory = false;
  detail::for_each_segment([&](const detail::Segment& s) noexcept {
    const auto is_of = [&](const char* library) { return s.is_of(library); };
    static constexpr const char* system_libraries[] = {"libc.so.", "libstdc++.so.", "libc++.so.", "libm.so.", "ld-linux"};
    const bool system = std::any_of(std::begin(system_libraries), std::end(system_libraries), is_of);
    const bool constant = system ? s.type == PT_LOAD : (s.type == PT_LOAD && (s.flags & PF_W) == 0) || s.type == PT_GNU_RELRO;
    if (!constant || s.begin == s.end) return;
    try {
      ranges.push_back({s.begin, s.end, system ? Mapped::no_handles : Mapped::constant});
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  });
  if (out_of_memory) throw std::bad_alloc();
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  constants_.swap(ranges);
  objects_seen_ = objects;
}

Platform::Mapped LinuxPlatform::classify(const void* pointer) const noexcept {
  const std::uintptr_t address = number(pointer);
  if (address < page_bytes_) return Mapped::no;
  unsigned char resident = 0;
  // ENOMEM means "not mapped"; any other failure leaves "yes", the careful answer.
  const int saved = errno;
  const int answer = ::mincore(platform::pointer(round_down(address, page_bytes_)), 1, &resident);
  const bool mapped = answer == 0 || errno != ENOMEM;
  errno = saved;
  if (!mapped) return Mapped::no;
  try {
    const std::lock_guard<std::mutex> lock(constants_mutex_);
    refresh_constants();
    const auto after = std::upper_bound(constants_.begin(), constants_.end(), address,
                                        [](std::uintptr_t a, const Range& r) { return a < r.begin; });
    if (after != constants_.begin() && address < std::prev(after)->end) return std::prev(after)->is;
  } catch (const std::exception&) {
    // There is no memory for the list. The answer "yes" only makes the launch unknown, which is slower and still right.
  }
  return Mapped::yes;
}

std::unique_ptr<Platform> make_linux_platform() { return std::make_unique<LinuxPlatform>(); }

}  // namespace semcache::platform
