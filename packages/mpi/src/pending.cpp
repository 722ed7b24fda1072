// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "pending.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace semcache::mpi {
namespace {

/// Returns the request's handle as a number. Requests are pointers with some libraries and integers with others.
std::uintptr_t key_of(MPI_Request request) noexcept {
  static_assert(sizeof(MPI_Request) <= sizeof(std::uintptr_t));
  std::uintptr_t key = 0;
  std::memcpy(&key, &request, sizeof request);
  return key;
}

/// An active send whose handle the program has given up.
struct Kept {
  MPI_Request request;
  PendingPtr pending;
};

/// The requests with tracked buffers. The registry is never destroyed, because requests may be completed while the process
/// ends.
struct Registry {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, PendingPtr> entries;
  std::vector<Kept> kept;
  std::atomic<std::size_t> count{0};  ///< of entries
  std::atomic<std::size_t> kept_count{0};
};

Registry& registry() {
  static Registry* const r = new Registry;
  return *r;
}

}  // namespace

int deliver(const char* call_name, Pending& p, const MPI_Status* status) {
  if (!p.active || p.delivered) return MPI_SUCCESS;
  p.delivered = true;
  if (!p.call.receives()) return MPI_SUCCESS;
  try {
    int cancelled = 0;
    if (p.completes == Completes::as_a_whole || p.completes == Completes::as_a_whole_again_and_again) {
      p.call.deliver();
    } else {
      if (p.completes != Completes::as_file_access) PMPI_Test_cancelled(status, &cancelled);
      if (cancelled == 0) p.call.deliver(received_bytes(*status));
    }
  } catch (const std::exception& e) {
    return refuse(p.target, Refusal::failed, call_name, e.what());
  }
  return MPI_SUCCESS;
}

bool is_complete(MPI_Request request) {
  int flag = 0;
  return PMPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag != 0;
}

void remember(const ErrorTarget& target, MPI_Request request, Call&& call, Completes completes) {
  release_completed(false);
  const bool active = !again_and_again(completes);
  PendingPtr entry = std::make_shared<Pending>(Pending{target, std::move(call), completes, active});
  Registry& r = registry();
  const std::lock_guard<std::mutex> lock(r.mutex);
  PendingPtr& place = r.entries[key_of(request)];
  if (place == nullptr) r.count.fetch_add(1, std::memory_order_relaxed);
  place.swap(entry);  // sends that are complete at once may share one handle: the earlier entry needs nothing any more
}

std::size_t pending_requests() noexcept { return registry().count.load(std::memory_order_relaxed); }

void find_pending(int count, const MPI_Request* requests, PendingPtr* entries) {
  Registry& r = registry();
  if (r.count.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard<std::mutex> lock(r.mutex);
  for (int i = 0; i < count; ++i) {
    if (const auto it = r.entries.find(key_of(requests[i])); it != r.entries.end()) entries[i] = it->second;
  }
}

void forget(MPI_Request request, const PendingPtr& entry) {
  Registry& r = registry();
  const std::lock_guard<std::mutex> lock(r.mutex);
  const auto it = r.entries.find(key_of(request));
  if (it == r.entries.end() || it->second != entry) return;
  r.entries.erase(it);
  r.count.fetch_sub(1, std::memory_order_relaxed);
}

void communicator_ends(MPI_Comm comm) {
  Registry& r = registry();
  if (r.count.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard<std::mutex> lock(r.mutex);
  for (auto& [request, entry] : r.entries) {
    if (entry->target.is(comm)) entry->target = MPI_COMM_WORLD;
  }
}

void keep_until_complete(MPI_Request request, PendingPtr entry) {
  forget(request, entry);
  Registry& r = registry();
  const std::lock_guard<std::mutex> lock(r.mutex);
  r.kept.push_back({request, std::move(entry)});
  r.kept_count.fetch_add(1, std::memory_order_relaxed);
}

void release_completed(bool wait) {
  Registry& r = registry();
  if (r.kept_count.load(std::memory_order_relaxed) == 0) return;
  std::vector<Kept> kept;
  {
    const std::lock_guard<std::mutex> lock(r.mutex);
    kept.swap(r.kept);
  }
  std::vector<Kept> rest;
  for (Kept& k : kept) {
    int complete = 0;
    const int code =
        wait ? PMPI_Wait(&k.request, MPI_STATUS_IGNORE) : PMPI_Test(&k.request, &complete, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !wait && complete == 0) {
      rest.push_back(std::move(k));
      continue;
    }
    if (k.request != MPI_REQUEST_NULL) PMPI_Request_free(&k.request);  // a persistent request outlives its completion
    r.kept_count.fetch_sub(1, std::memory_order_relaxed);
  }
  const std::lock_guard<std::mutex> lock(r.mutex);
  for (Kept& k : rest) r.kept.push_back(std::move(k));
}

Completion::~Completion() {
  if (none_) return;
  Registry& r = registry();
  for (const Entry& e : entries_) {
    if (e.pending == nullptr || again_and_again(e.pending->completes)) continue;
    const std::lock_guard<std::mutex> lock(r.mutex);
    if (r.entries.emplace(key_of(e.request), e.pending).second) r.count.fetch_add(1, std::memory_order_relaxed);
  }
}

/// Takes the entries of requests that end with their completion out of the registry before the library is called. As soon as
/// the library has freed a handle, another thread may get the same handle for a new request.
Completion::Completion(const char* call, int count, const MPI_Request* requests)
    : call_(call), entries_(requests != nullptr && pending_requests() != 0 ? count : 0) {
  if (entries_.empty()) return;
  Registry& r = registry();
  const std::lock_guard<std::mutex> lock(r.mutex);
  for (Entry& e : entries_) {
    e.request = *requests++;
    const auto it = r.entries.find(key_of(e.request));
    if (it == r.entries.end()) continue;
    none_ = false;
    if (again_and_again(it->second->completes)) {
      e.pending = it->second;
    } else {
      e.pending = std::move(it->second);
      r.entries.erase(it);
      r.count.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

void Completion::deliver_together(int count, const int* indices, const MPI_Status* statuses) {
  struct Arrived {
    Arrival arrival;
    Pending* pending;
  };
  const auto waits = [&](int k) {
    const Pending* const p = entries_[indices != nullptr ? indices[k] : k].pending.get();
    return p != nullptr && p->active && !p->delivered && statuses[k].MPI_ERROR == MPI_SUCCESS && p->call.receives() &&
           (p->completes == Completes::as_message || p->completes == Completes::as_message_again_and_again);
  };
  int several = 0;
  for (int k = 0; k < count && several < 2; ++k) several += waits(k);
  if (several < 2) return;
  PerRequest<Arrived> all(count);
  Arrived* end = all.begin();
  for (int k = 0; k < count; ++k) {
    int cancelled = 0;
    if (!waits(k) || PMPI_Test_cancelled(&statuses[k], &cancelled) != MPI_SUCCESS || cancelled != 0) continue;
    end->pending = entries_[indices != nullptr ? indices[k] : k].pending.get();
    if (end->pending->call.is_one_piece(received_bytes(statuses[k]), end->arrival)) ++end;
  }
  std::sort(all.begin(), end, [](const Arrived& a, const Arrived& b) { return a.arrival.to < b.arrival.to; });
  for (Arrived* first = all.begin(); first != end;) {
    const runtime::Transit* transits[16];
    std::uint64_t bytes = 0;
    Arrived* next = first;
    for (; next != end && next - first < 16; ++next) {
      const Arrival& a = next->arrival;
      if (next != first && (a.to != first->arrival.to + bytes || a.from != first->arrival.from + bytes)) break;
      transits[next - first] = a.transit;
      bytes += a.bytes;
    }
    try {
      const auto n = static_cast<std::size_t>(next - first);
      if (n > 1 && io()->write_in_together(first->arrival.to, bytes, transits, n)) {
        for (const Arrived* a = first; a != next; ++a) a->pending->delivered = true;
      }
    } catch (const std::exception&) {  // `completed` delivers each message alone and reports the error
    }
    first = next;
  }
}

int Completion::completed(int i, const MPI_Status& status) {
  const PendingPtr& p = entries_[i].pending;
  const int code = p == nullptr ? MPI_SUCCESS : deliver(call_, *p, &status);
  failed(i);
  return code;
}

void Completion::failed(int i) {
  Entry& e = entries_[i];
  if (e.pending == nullptr) return;
  if (again_and_again(e.pending->completes)) {
    e.pending->active = false;
    e.pending->call.rest();
    e.pending->delivered = false;
  }
  e.pending = nullptr;
}

}  // namespace semcache::mpi
