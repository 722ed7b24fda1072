// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/linux_platform.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

// What sanitizers know of their heap, which replaces the C library's.
extern "C" {
[[gnu::weak]] const char* __asan_locate_address(void*, char*, std::size_t, void**, std::size_t*);
[[gnu::weak]] const char* __tsan_locate_address(void*, char*, std::size_t, void**, std::size_t*);
}

namespace semcache::platform {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uintptr_t);

/// Returns whether `malloc` is that of the GNU C library, whose blocks contain their size.
bool malloc_is_gnu() noexcept {
  static const bool is = [] {
    Dl_info allocator{}, library{};
    void* const malloc_here = ::dlsym(RTLD_DEFAULT, "malloc");
    void* const gnu = ::dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    return malloc_here != nullptr && gnu != nullptr && ::dladdr(malloc_here, &allocator) != 0 &&
           ::dladdr(gnu, &library) != 0 && allocator.dli_fbase == library.dli_fbase;
  }();
  return is;
}

/// Returns where the process's first heap begins, from the 47th field of /proc/self/stat.
std::uintptr_t begin_of_heap() noexcept {
  static const std::uintptr_t begin = [] {
    char text[2048];
    const int file = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = file < 0 ? -1 : ::read(file, text, sizeof text - 1);
    if (file >= 0) ::close(file);
    text[std::max<ssize_t>(bytes, 0)] = '\0';
    const char* at = std::strrchr(text, ')');  // ends the second field, which may contain any characters
    for (int field = 2; field < 47 && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
    return at != nullptr ? std::strtoull(at, nullptr, 10) : std::uintptr_t(-1);
  }();
  return begin;
}

/// The word in front of a block: the number of bytes from there to the next such word, and three flags.
struct SizeWord {
  explicit SizeWord(std::uintptr_t word) noexcept : word(word), bytes(word & ~std::uintptr_t{7}) {}
  [[nodiscard]] bool plausible() const noexcept {
    return bytes >= 32 && bytes % 16 == 0 && bytes < (std::uintptr_t{1} << 40);
  }
  [[nodiscard]] bool previous_is_used() const noexcept { return (word & 1) != 0; }
  [[nodiscard]] bool has_own_mapping() const noexcept { return (word & 2) != 0; }
  [[nodiscard]] bool is_of_another_arena() const noexcept { return (word & 4) != 0; }
  std::uintptr_t word;
  std::uintptr_t bytes;
};

/// Blocks of the main heap and of the heaps of threads, found by the words that the C library writes in front of them.
class GnuHeap {
 public:
  explicit GnuHeap(const LinuxPlatform& platform) noexcept : platform_(platform) {}

  /// Returns the block that begins at the address, if there is one. A member behind a word of the program that looks like a size may be taken for a block.
  [[nodiscard]] Platform::HostBlock block_at(std::uintptr_t begin) const noexcept {
    std::uintptr_t word = 0;
    if (begin % 16 != 0 || !read_word(begin - word_bytes, word) || !SizeWord(word).plausible()) return {};
    return block_at(begin, SizeWord(word));
  }

  /// Returns the block that holds the address. Words within a block may look like the word in front of a block, so the result is
  /// the union of all candidates, which leaves nothing out.
  [[nodiscard]] Platform::HostBlock block_around(std::uintptr_t address) const noexcept {
    const std::uintptr_t last = address / 16 * 16;
    const std::uintptr_t page = platform_.page_bytes();
    std::uintptr_t words[window / word_bytes];
    Platform::HostBlock found;
    // Less can be read near the beginning of the heap, or of a block with a mapping of its own.
    for (std::uintptr_t first : {last - window, last / page * page - page, last / page * page}) {
      const std::size_t count = (last - first) / word_bytes;
      if (!platform_.read(pointer(first), words, count * word_bytes)) continue;
      for (std::uintptr_t begin = first + 16; begin <= last; begin += 16) {
        const SizeWord own(words[(begin - first) / word_bytes - 1]);
        if (!own.plausible() || (!own.has_own_mapping() && address - begin >= own.bytes)) continue;
        const Platform::HostBlock block = block_at(begin, own);
        if (address - begin >= block.bytes) continue;
        if (found.bytes == 0) found = block;
        found.bytes = std::max(found.bytes, begin + block.bytes - found.begin);
        found.leads_nowhere = found.leads_nowhere && block.leads_nowhere;
      }
      return found;
    }
    return found;
  }

  /// Returns whether the block is a FILE that fopen allocated: its pointers lead to the library's buffers only.
  [[nodiscard]] bool is_file(const Platform::HostBlock& block) const noexcept {
    constexpr std::uintptr_t magic = 0xfbad0000, table_at = 216;
    std::uintptr_t flags = 0, table = 0;
    return block.bytes > table_at && read_word(block.begin, flags) && (flags & 0xffff0000) == magic &&
           read_word(block.begin + table_at, table) &&
           platform_.is_constant(pointer(table));
  }

 private:
  static constexpr std::uintptr_t window = 8192;  // more than a page
  static constexpr std::uintptr_t front_bytes = 2 * word_bytes;  // the library's own words in front of a block

  [[nodiscard]] Platform::HostBlock block_at(std::uintptr_t begin, SizeWord own) const noexcept {
    if (own.has_own_mapping()) return mapped_block(begin, own.bytes);
    const std::uintptr_t end = own.is_of_another_arena() ? end_of_heap_of_thread(begin) : end_of_main_heap(begin);
    const std::uintptr_t limit = end + front_bytes;  // where a block would begin behind the last one
    if (end == 0 || own.bytes > limit - begin) return {};
    if (own.bytes == limit - begin) return {begin, end - begin, true};  // the last one is free
    // Several size words that agree in sequence are no accident. All of them lead to a place within the heap, or exactly to its end, and in front of a
    // block that follows a free one lies the size of that one.
    bool used = true;
    std::uintptr_t at = begin + own.bytes, bytes = own.bytes;
    for (int k = 0; k < 8 && at != limit; ++k) {
      std::uintptr_t front[2] = {};
      if (!platform_.read(pointer(at - front_bytes), front, sizeof front)) return {};
      const SizeWord next(front[1]);
      if (!next.plausible() || next.bytes > limit - at || (!next.previous_is_used() && front[0] != bytes)) return {};
      if (k == 0) used = next.previous_is_used();
      bytes = next.bytes;
      at += bytes;
    }
    return {begin, own.bytes - word_bytes, !used && is_listed(begin)};
  }

  /// Returns whether the library keeps the block for later. Such blocks form a circular list, in which each knows the next one and the one before; others
  /// that look free may be words of the program.
  [[nodiscard]] bool is_listed(std::uintptr_t begin) const noexcept {
    const std::uintptr_t own = begin - front_bytes;
    std::uintptr_t next = 0, before = 0, back = 0, forth = 0;
    return read_word(begin, next) && read_word(begin + word_bytes, before) &&
           read_word(next + front_bytes + word_bytes, back) && read_word(before + front_bytes, forth) && back == own && forth == own;
  }

  [[nodiscard]] bool read_word(std::uintptr_t address, std::uintptr_t& word) const noexcept {
    return platform_.read(pointer(address), &word, sizeof word);
  }
  /// Returns the end of the main heap; 0 where the address is elsewhere.
  [[nodiscard]] static std::uintptr_t end_of_main_heap(std::uintptr_t address) noexcept {
    const std::uintptr_t end = number(::sbrk(0));
    return address >= begin_of_heap() && address < end ? end : 0;
  }
  /// Returns the end of the thread's heap that holds the address; 0 where the address is elsewhere. Such heaps lie at multiples
  /// of 64 MiB. They begin with two pointers, their size, and how much of it was made accessible.
  [[nodiscard]] std::uintptr_t end_of_heap_of_thread(std::uintptr_t address) const noexcept {
    constexpr std::uintptr_t heap_bytes = std::uintptr_t{64} << 20;
    const std::uintptr_t heap = address & ~(heap_bytes - 1);
    std::uintptr_t arena = 0, bytes = 0, accessible = 0;
    const bool is_heap = read_word(heap, arena) && read_word(heap + 2 * word_bytes, bytes) &&
                         read_word(heap + 3 * word_bytes, accessible) && arena % 16 == 0 && bytes <= accessible &&
                         accessible <= heap_bytes && bytes % platform_.page_bytes() == 0;
    return is_heap && address - heap < bytes ? heap + bytes : 0;
  }
  /// Returns a large block that has a mapping of its own: two words, then the block. Other memory, a stack for instance, may hold
  /// two words that look alike, but then the end that they describe is hardly ever mapped.
  [[nodiscard]] Platform::HostBlock mapped_block(std::uintptr_t begin, std::uintptr_t bytes) const noexcept {
    std::uintptr_t before = 0, last = 0;
    if (!read_word(begin - 2 * word_bytes, before)) return {};
    const std::uint64_t page = platform_.page_bytes();
    if ((begin - 16 - before) % page != 0 || (bytes + before) % page != 0) return {};
    if (!read_word(begin + bytes - 16 - word_bytes, last)) return {};
    return {begin, bytes - 16, false};
  }

  const LinuxPlatform& platform_;
};

const auto locate = &__asan_locate_address != nullptr ? &__asan_locate_address : &__tsan_locate_address;
const bool sanitizer_knows = locate != nullptr;

Platform::HostBlock located(const void* inside) noexcept {
  char name[8];
  void* begin = nullptr;
  std::size_t bytes = 0;
  Dl_info object{};
  if (::dladdr(inside, &object) != 0) return {};  // ThreadSanitizer (of GCC 12) ends the process at a variable without a name
  const char* const what = locate(const_cast<void*>(inside), name, sizeof name, &begin, &bytes);
  const bool in_heap = what != nullptr && std::strcmp(what, "heap") == 0 && number(inside) - number(begin) < bytes;
  return in_heap ? Platform::HostBlock{number(begin), bytes, false} : Platform::HostBlock{};
}

}  // namespace

bool LinuxPlatform::is_on_this_stack(std::uintptr_t first, std::uintptr_t last) noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return false;
  void* begin = nullptr;
  std::size_t bytes = 0;
  const bool known = ::pthread_attr_getstack(&attributes, &begin, &bytes) == 0;
  ::pthread_attr_destroy(&attributes);
  return known && first < number(begin) + bytes && number(begin) < last;
}

bool LinuxPlatform::read(const void* from, void* to, std::uint64_t bytes) const noexcept {
  const int saved = errno;
  iovec target{to, bytes};
  iovec source{const_cast<void*>(from), bytes};
  const ssize_t moved = ::process_vm_readv(::getpid(), &target, 1, &source, 1, 0);
  errno = saved;
  return moved >= 0 && static_cast<std::uint64_t>(moved) == bytes;
}

Platform::HostBlock LinuxPlatform::heap_block(const void* begin) const noexcept {
  if (!sanitizer_knows && !malloc_is_gnu()) return {};
  const GnuHeap heap(*this);
  HostBlock block = sanitizer_knows ? located(begin) : heap.block_at(number(begin));
  if (block.begin != number(begin)) return {};
  block.leads_nowhere = block.leads_nowhere || heap.is_file(block);
  return block;
}

Platform::HostBlock LinuxPlatform::heap_around(const void* inside) const noexcept {
  if (sanitizer_knows) return located(inside);
  return malloc_is_gnu() ? GnuHeap(*this).block_around(number(inside)) : HostBlock{};
}

std::string LinuxPlatform::describe(const void* pointer) const {
  if (is_on_this_stack(number(pointer), number(pointer) + 1)) return "the stack";
  Dl_info object{};
  if (::dladdr(pointer, &object) != 0 && object.dli_fname != nullptr) {
    const std::string variable = object.dli_sname != nullptr ? "'" + std::string(object.dli_sname) + "'" : "a variable";
    return variable + " of " + object.dli_fname;
  }
  return heap_around(pointer).bytes != 0 ? "the heap" : "memory of unknown extent";
}

}  // namespace semcache::platform
