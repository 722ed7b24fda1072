// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/patience.hpp>
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/linux/userfaultfd_platform.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

namespace semcache::platform {
namespace {

constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;
constexpr std::uint64_t buffer_bytes = std::uint64_t{1} << 20;

std::byte* bytes_at(std::uintptr_t n) { return reinterpret_cast<std::byte*>(n); }

/// Guards the states of all pages. A forking thread holds it, so that the child finds the states in order. A thread that holds it
/// does not touch memory of the program, and does not wait for one of the program's threads.
std::mutex mutex;
using Lock = std::lock_guard<std::mutex>;
void before_fork() { mutex.lock(); }
void after_fork_in_parent() { mutex.unlock(); }
/// Never destroyed, because a process may fork while it ends.
std::vector<UserfaultfdPlatform*>& platforms = *new std::vector<UserfaultfdPlatform*>;

int open_page_map() {
  const int file = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    detail::refuse_userfaultfd(std::string("/proc/self/pagemap cannot be opened (") + std::strerror(errno) + "). Mount /proc");
  return file;
}

/// Ends the process because the state of these pages is unknown now (I8).
[[noreturn]] void die(const char* what, std::uintptr_t begin, std::uintptr_t end, int error) noexcept {
  base::fatal("%s of %zu bytes at %p in array '%s' failed with error %d%s", what, static_cast<std::size_t>(end - begin),
              pointer(begin), detail::label_of(pointer(begin)), error,
              error == ENOMEM ? ": memory, or the kernel's limit on mappings (vm.max_map_count), is used up. Raise it, or free mirrors" : "");
}

void drop(std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (::madvise(pointer(begin), end - begin, MADV_DONTNEED) != 0) die("dropping pages", begin, end, errno);
}

void allow(std::uintptr_t begin, std::uintptr_t end, int accesses) noexcept {
  if (::mprotect(pointer(begin), end - begin, accesses) != 0) die("mprotect", begin, end, errno);
}

/// Sets whether forked children get the pages. Returns 0 or the system's error. Where the limit on mappings was met it returns
/// ENOMEM, as the other calls do, instead of madvise's EAGAIN.
/// @param advice  MADV_DOFORK or MADV_DONTFORK
int give_to_children(std::uintptr_t begin, std::uintptr_t end, int advice) noexcept {
  if (::madvise(pointer(begin), end - begin, advice) == 0) return 0;
  return errno == EAGAIN ? ENOMEM : errno;
}

}  // namespace

UserfaultfdPlatform::UserfaultfdPlatform() : page_map_(open_page_map()) {
  detail::at_fork<&before_fork, &after_fork_in_parent, &after_fork_in_child>();
  const Lock lock(mutex);
  platforms.push_back(this);
}

UserfaultfdPlatform::~UserfaultfdPlatform() {
  const Lock lock(mutex);
  platforms.erase(std::remove(platforms.begin(), platforms.end(), this), platforms.end());
  ::close(page_map_);
}

std::byte* UserfaultfdPlatform::reserve(std::uint64_t& bytes) {
  SEMCACHE_EXPECTS(begin_ == 0, "these pages have an arena already");
  // An unused gap separates the two parts: mremap would otherwise join neighbours to one mapping, which is then no longer
  // watched.
  bytes = round_up(std::min(bytes, base::end_of_addresses), huge_page_bytes);
  std::uint64_t both = 2 * (bytes + huge_page_bytes);
  std::byte* const base = LinuxPlatform::reserve(both);
  bytes = std::min(bytes, both / 2 - page_bytes());
  const std::uintptr_t aside = number(base) + both / 2;
  if (const int error = give_to_children(aside, aside + both / 2, MADV_DONTFORK))
    die("madvise(MADV_DONTFORK)", aside, aside + both / 2, error);
  const Lock lock(mutex);
  begin_ = end_ = number(base);
  aside_ = aside;
  return base;
}

void UserfaultfdPlatform::release(std::byte* base, std::uint64_t bytes) noexcept {
  const Lock lock(mutex);
  if (number(base) != begin_ || begin_ == 0) return;
  LinuxPlatform::release(base, userfaultfd_.descriptor() >= 0 ? 2 * (aside_ - begin_) : bytes);  // a child has no place aside
  begin_ = end_ = aside_ = 0;
  protections_.clear();
  declined_.clear();
}

/// From here on the kernel may count the memory of both places (vm.overcommit_memory=2).
bool UserfaultfdPlatform::make_usable(std::byte* address, std::uint64_t bytes, Protection protection) noexcept {
  {
    const Lock lock(mutex);
    SEMCACHE_CHECK(number(address) == end_);
    constexpr int open = PROT_READ | PROT_WRITE;
    if (::mprotect(pointer(aside(end_)), bytes, open) != 0 || ::mprotect(address, bytes, open) != 0) return false;
    end_ += bytes;
    protections_[number(address)] = Protection::read_write;
  }
  if (protect(address, bytes, protection)) return true;
  const Lock lock(mutex);
  end_ -= bytes;
  protections_.erase(number(address));
  return false;
}

// --- states ----------------------------------------------------------------------------------------------------------

base::Vector<UserfaultfdPlatform::Piece> UserfaultfdPlatform::pieces(std::uintptr_t begin, std::uintptr_t end) const {
  base::Vector<Piece> out;
  if (begin >= end) return out;
  for (auto it = std::prev(protections_.upper_bound(begin)); it != protections_.end() && it->first < end; ++it) {
    const auto next = std::next(it);
    const std::uintptr_t stop = next != protections_.end() ? next->first : end_;
    out.push_back({std::max(begin, it->first), std::min(end, stop), it->second});
  }
  return out;
}

void UserfaultfdPlatform::note(std::uintptr_t begin, std::uintptr_t end, Protection protection) {
  const Protection behind = std::prev(protections_.upper_bound(end))->second;
  protections_.erase(protections_.lower_bound(begin), protections_.upper_bound(end));
  if (end < end_ && behind != protection) protections_[end] = behind;
  const auto before = protections_.lower_bound(begin);
  if (before == protections_.begin() || std::prev(before)->second != protection) protections_[begin] = protection;
}

bool UserfaultfdPlatform::protect(std::byte* address, std::uint64_t bytes, Protection protection) noexcept {
  const base::TakesTime work;
  const Lock lock(mutex);
  bool changed = false;
  for (const Piece& piece : pieces(number(address), number(address) + bytes)) {
    if (piece.protection == protection) continue;
    const int error = change(piece, protection);
    if (error == ENOMEM && !changed) return false;
    if (error != 0) die("a change of protection", piece.begin, piece.end, error);
    note(piece.begin, piece.end, protection);
    changed = true;
  }
  return true;
}

/// Changes the protection of a piece. Returns 0 or the system's error. Only the first step can meet the limit on mappings,
/// because it splits them where the other steps need it.
int UserfaultfdPlatform::change(const Piece& piece, Protection to) {
  const std::uintptr_t begin = piece.begin;
  const std::uintptr_t end = piece.end;
  const std::uint64_t bytes = end - begin;
  const bool was_closed = piece.protection == Protection::none;
  if (to == Protection::none) {
    if (const int error = give_to_children(begin, end, MADV_DONTFORK)) return error;
  }
  if (piece.protection == Protection::read_write) {
    int error = userfaultfd_.watch(begin, bytes);
    if (error != 0 && to == Protection::read) return error;
    if (error == 0) error = userfaultfd_.write_protect(begin, bytes);  // no write is lost from here on
    if (error != 0) die("watching", begin, end, error);
  }
  if (to == Protection::none) put_aside(begin, end);
  if (was_closed) bring_back(begin, end);
  int error = to == Protection::read_write ? userfaultfd_.unwatch(begin, bytes) : 0;
  if (error == 0 && was_closed) {
    error = give_to_children(begin, end, MADV_DOFORK);
    if (error != 0 && (error != ENOMEM || to == Protection::read_write)) die("madvise(MADV_DOFORK)", begin, end, error);
  }
  if (error != 0 && was_closed) put_aside(begin, end);
  return error;
}

// --- where the content is --------------------------------------------------------------------------------------------

base::Vector<ByteRange> UserfaultfdPlatform::present(std::uintptr_t begin, std::uintptr_t end) const {
  constexpr std::uint64_t in_memory_or_swapped = std::uint64_t{3} << 62;
  base::Vector<ByteRange> runs;
  std::uint64_t entries[512];
  for (std::uintptr_t at = begin; at < end;) {
    const std::uint64_t pages = std::min<std::uint64_t>(std::size(entries), (end - at) / page_bytes());
    const ssize_t n = ::pread(page_map_, entries, pages * sizeof entries[0],
                              static_cast<off_t>(at / page_bytes() * sizeof entries[0]));
    if (n < 0 && errno == EINTR) continue;
    if (n < static_cast<ssize_t>(sizeof entries[0])) die("reading /proc/self/pagemap", begin, end, n < 0 ? errno : EIO);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n) / sizeof entries[0]; ++i, at += page_bytes()) {
      if ((entries[i] & in_memory_or_swapped) != 0) append(runs, {at, at + page_bytes()});
    }
  }
  return runs;
}

/// Moves content aside. The pages are write-protected or absent before, and absent afterwards.
void UserfaultfdPlatform::put_aside(std::uintptr_t begin, std::uintptr_t end) {
  // Whole huge pages are moved. For less, a system call and an additional mapping would cost more than the copy.
  if (end - begin >= huge_page_bytes) {
    begin += move_pages(begin, aside(begin), end - begin);
    if (begin == end) return;
    // Some kernels unmap the target before they refuse.
    if (::mmap(pointer(aside(begin)), end - begin, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && errno != EEXIST)
      die("mmap of the place aside", begin, end, errno);
  }
  for (const ByteRange run : present(begin, end))
    LinuxPlatform::read_behind(bytes_at(aside(run.begin)), bytes_at(run.begin), run.size());
  drop(begin, end);
}

/// Brings content back. The pages are absent before, and readable afterwards. Pages that were never written stay absent.
void UserfaultfdPlatform::bring_back(std::uintptr_t begin, std::uintptr_t end) {
  for (const ByteRange run : present(aside(begin), aside(end))) {
    const std::uintptr_t to = run.begin - aside_ + begin_;
    if (const int error = userfaultfd_.copy(to, pointer(run.begin), run.size()))
      die("UFFDIO_COPY", to, to + run.size(), error);
  }
  drop(aside(begin), aside(end));
}

void UserfaultfdPlatform::discard(std::byte* address, std::uint64_t bytes) noexcept {
  for (const Piece& piece : pieces_now(address, bytes)) {
    const std::uintptr_t content = piece.protection == Protection::none ? aside(piece.begin) : piece.begin;
    LinuxPlatform::discard(bytes_at(content), piece.end - piece.begin);
  }
}

/// Replaces the content of readable pages. Readers meanwhile fault and wait, because no page is ever open for writing.
void UserfaultfdPlatform::replace(std::uintptr_t to, const std::byte* from, std::uint64_t bytes) {
  const std::uintptr_t begin = round_down(to, page_bytes());
  const std::uintptr_t end = round_up(to + bytes, page_bytes());
  put_aside(begin, end);
  std::memcpy(pointer(aside(to)), from, bytes);
  bring_back(begin, end);
}

base::Vector<UserfaultfdPlatform::Piece> UserfaultfdPlatform::pieces_now(const std::byte* begin,
                                                                        std::uint64_t bytes) const {
  const Lock lock(mutex);
  return pieces(number(begin), number(begin) + bytes);
}

// The other side of a copy is memory of the caller's. It may belong to a freed array, where an access faults and waits. So it is
// never touched with the mutex held, because serving the fault needs the mutex.

void UserfaultfdPlatform::write_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  const base::TakesTime work;
  if (!in_arena(to)) return LinuxPlatform::write_behind(to, from, bytes);
  base::Vector<std::byte> buffer;
  for (const Piece& piece : pieces_now(to, bytes)) {
    const std::byte* source = from + (piece.begin - number(to));
    const std::uint64_t n = piece.end - piece.begin;
    if (piece.protection == Protection::read_write) {
      LinuxPlatform::write_behind(bytes_at(piece.begin), source, n);
    } else if (piece.protection == Protection::none) {
      std::memcpy(pointer(aside(piece.begin)), source, n);
    } else {
      for (std::uintptr_t at = piece.begin; at < piece.end; at += buffer.size(), source += buffer.size()) {
        buffer.assign(source, source + std::min<std::uint64_t>(buffer_bytes, piece.end - at));
        const Lock lock(mutex);
        replace(at, buffer.data(), buffer.size());
      }
    }
  }
}

void UserfaultfdPlatform::read_behind(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  const base::TakesTime work;
  if (!in_arena(from)) return LinuxPlatform::read_behind(to, from, bytes);
  base::Vector<std::byte> buffer;
  for (const Piece& piece : pieces_now(from, bytes)) {
    std::byte* target = to + (piece.begin - number(from));
    const std::uint64_t n = piece.end - piece.begin;
    if (piece.protection == Protection::read_write) {
      LinuxPlatform::read_behind(target, bytes_at(piece.begin), n);
    } else if (piece.protection == Protection::none) {
      std::memcpy(target, pointer(aside(piece.begin)), n);
    } else {
      for (std::uintptr_t at = piece.begin; at < piece.end; at += buffer.size(), target += buffer.size()) {
        const std::uintptr_t end = std::min<std::uintptr_t>(piece.end, at + buffer_bytes);
        buffer.assign(end - at, std::byte{0});
        {
          const Lock lock(mutex);
          for (const ByteRange run : present(round_down(at, page_bytes()), round_up(end, page_bytes()))) {
            const ByteRange part = intersect(run, {at, end});
            LinuxPlatform::read_behind(buffer.data() + (part.begin - at), bytes_at(part.begin), part.size());
          }
        }
        std::memcpy(target, buffer.data(), buffer.size());
      }
    }
  }
}

// --- for the tracker -------------------------------------------------------------------------------------------------

bool UserfaultfdPlatform::permits(std::uintptr_t address, FaultKind kind) noexcept {
  const Lock lock(mutex);
  if (address < begin_ || end_ <= address) return false;
  const Protection now = std::prev(protections_.upper_bound(address))->second;
  if (now == Protection::read_write) return true;
  if (now == Protection::none || kind == FaultKind::write) return false;
  // The page is read before anything was written. The system's page of zeros cannot be made write-protected in one step.
  // The zeros are never destroyed, because pages are read while the process ends.
  static const std::vector<std::byte>& zeros = *new const std::vector<std::byte>(page_bytes());
  const std::uintptr_t page = round_down(address, page_bytes());
  const int error = userfaultfd_.copy(page, zeros.data(), page_bytes());
  if (error != 0 && error != EEXIST) die("UFFDIO_COPY", page, page + page_bytes(), error);
  return true;
}

void UserfaultfdPlatform::decline(std::uintptr_t address) noexcept {
  const Lock lock(mutex);
  const std::uintptr_t page = round_down(address, page_bytes());
  allow(page, page + page_bytes(), PROT_NONE);
  declined_.insert(page);
}

void UserfaultfdPlatform::forgive() noexcept {
  const Lock lock(mutex);
  for (const std::uintptr_t page : declined_) allow(page, page + page_bytes(), PROT_READ | PROT_WRITE);
  declined_.clear();
}

void UserfaultfdPlatform::stop_watching() noexcept {
  forgive();
  const Lock lock(mutex);
  for (const Piece& piece : pieces(begin_, end_)) {
    if (piece.protection == Protection::read_write) continue;
    allow(piece.begin, piece.end, piece.protection == Protection::read ? PROT_READ : PROT_NONE);
    if (const int error = userfaultfd_.unwatch(piece.begin, piece.end - piece.begin))
      die("unwatching", piece.begin, piece.end, error);
  }
  userfaultfd_.wake(begin_, end_ - begin_);
  stopped_ = true;
}

void UserfaultfdPlatform::watch_again() {
  const Lock lock(mutex);
  if (!std::exchange(stopped_, false)) return;
  for (const Piece& piece : pieces(begin_, end_)) {
    if (piece.protection == Protection::read_write) continue;
    int error = userfaultfd_.watch(piece.begin, piece.end - piece.begin);
    if (error == 0 && piece.protection == Protection::read)
      error = userfaultfd_.write_protect(piece.begin, piece.end - piece.begin);
    if (error != 0) die("watching again", piece.begin, piece.end, error);
    allow(piece.begin, piece.end, PROT_READ | PROT_WRITE);
  }
}

// --- fork ------------------------------------------------------------------------------------------------------------

/// In the child, readable pages are its own memory and open to it. Closed pages were not given to it; they get inaccessible pages
/// instead of a hole that another mapping could fill.
void UserfaultfdPlatform::after_fork_in_child() {
  for (UserfaultfdPlatform* const platform : platforms) {
    platform->userfaultfd_.forget();
    if (platform->begin_ == 0) continue;
    for (const Piece& piece : platform->pieces(platform->begin_, platform->end_)) {
      if (piece.protection != Protection::none) continue;
      if (::mmap(pointer(piece.begin), piece.end - piece.begin, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        die("mmap", piece.begin, piece.end, errno);
    }
  }
  mutex.unlock();
}

}  // namespace semcache::platform
