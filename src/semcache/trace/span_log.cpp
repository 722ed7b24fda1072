// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/span_log.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace semcache::trace {
namespace {

thread_local std::uint32_t thread = 0;  // the kernel's number, once it has been asked

}  // namespace

struct SpanLog::Chunk {
  struct alignas(64) Place : Span {  // a base, so that `complete` lies in its last bytes, which hold nothing
    std::atomic<bool> complete{false};
  };
  static_assert(sizeof(Place) == 64, "a span takes one cache line");
  Place places[chunk_spans];
};

SpanLog::SpanLog(std::size_t most)
    : begin_unix_ns_(static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count())),
      most_(most),
      chunks_((most + chunk_spans - 1) / chunk_spans) {}

SpanLog::~SpanLog() {
  for (const auto& chunk : chunks_) delete chunk.load();
}

std::uint32_t SpanLog::this_thread() noexcept {
  if (thread == 0) thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  return thread;
}

std::uint32_t SpanLog::name(const char* text) noexcept {
  if (text == nullptr) text = "";
  std::atomic<const Names::value_type*>& recent = recent_[reinterpret_cast<std::uintptr_t>(text) / 16 % recent_.size()];
  if (const auto* const known = recent.load(std::memory_order_acquire); known != nullptr && known->first == text) return known->second;
  try {
    std::string key(text);
    const std::lock_guard lock(names_mutex_);
    auto found = names_.find(key);
    if (found == names_.end()) {
      if (names_.size() >= most_names) return 0;
      found = names_.emplace(std::move(key), static_cast<std::uint32_t>(names_.size() + 1)).first;
    }
    recent.store(&*found, std::memory_order_release);
    return found->second;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

void SpanLog::add(const Span& span) noexcept {
  const std::uint64_t at = next_.fetch_add(1, std::memory_order_relaxed);
  if (at >= most_) return drop(span.kind, 1);
  std::atomic<Chunk*>& slot = chunks_[at / chunk_spans];
  Chunk* chunk = slot.load(std::memory_order_acquire);
  if (chunk == nullptr) {
    auto made = std::unique_ptr<Chunk>(new (std::nothrow) Chunk);
    if (made == nullptr) return drop(span.kind, 1);
    if (slot.compare_exchange_strong(chunk, made.get(), std::memory_order_acq_rel)) chunk = made.release();
  }
  Chunk::Place& place = chunk->places[at % chunk_spans];
  static_cast<Span&>(place) = span;
  place.complete.store(true, std::memory_order_release);
  if (&place + 1 < std::end(chunk->places)) __builtin_prefetch(&place + 1, 1);  // for the next span, because the driver's code uses up the caches
}

void SpanLog::add(const DeviceSpan& span) noexcept {
  const Span::Kind kind = span.kind == DeviceSpan::Kind::kernel ? Span::Kind::kernel : Span::Kind::other;
  try {
    const std::lock_guard lock(device_mutex_);
    if (device_spans_.size() >= most_) return drop(kind, 1);
    device_spans_.push_back(span);
  } catch (const std::bad_alloc&) {
    drop(kind, 1);
  }
}

std::vector<DeviceSpan> SpanLog::device_spans() const {
  const std::lock_guard lock(device_mutex_);
  return device_spans_;
}

std::vector<Span> SpanLog::spans() const {
  const std::uint64_t end = std::min<std::uint64_t>(next_.load(std::memory_order_acquire), most_);
  std::vector<Span> all;
  all.reserve(end);
  for (std::uint64_t at = 0; at < end; ++at) {
    Chunk* const chunk = chunks_[at / chunk_spans].load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    const Chunk::Place& place = chunk->places[at % chunk_spans];
    if (place.complete.load(std::memory_order_acquire)) all.push_back(place);
  }
  return all;
}

std::vector<std::string> SpanLog::names() const {
  const std::lock_guard lock(names_mutex_);
  std::vector<std::string> all(names_.size());
  for (const auto& [text, number] : names_) all[number - 1] = text;
  return all;
}

std::array<std::uint64_t, Span::kinds> SpanLog::dropped() const noexcept {
  std::array<std::uint64_t, Span::kinds> all{};
  for (std::size_t k = 0; k < Span::kinds; ++k) all[k] = dropped_[k].load(std::memory_order_relaxed);
  return all;
}

}  // namespace semcache::trace
