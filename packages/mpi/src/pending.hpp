// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "call.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace semcache::mpi {

/// One T for each request of a call. Few of them need no allocation.
template <class T>
class PerRequest {
 public:
  explicit PerRequest(int count)
      : count_(static_cast<std::size_t>(std::max(count, 0))),
        many_(count_ > few ? std::make_unique<T[]>(count_) : nullptr),
        all_(many_ != nullptr ? many_.get() : few_) {}
  PerRequest(const PerRequest&) = delete;
  PerRequest& operator=(const PerRequest&) = delete;
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] T* begin() noexcept { return all_; }
  [[nodiscard]] T* end() noexcept { return all_ + count_; }
  [[nodiscard]] T& operator[](int i) noexcept { return all_[i]; }

 private:
  static constexpr std::size_t few = 8;
  std::size_t count_;
  T few_[few];
  std::unique_ptr<T[]> many_;
  T* all_;
};

/// A request with tracked buffers.
struct Pending {
  ErrorTarget target;
  Call call;
  Completes completes;
  bool active;             ///< started and not completed; else a persistent request at rest
  bool delivered = false;  ///< the arrays have what arrived, although the request is not completed (Request_get_status)
};

using PendingPtr = std::shared_ptr<Pending>;
/// The entries of requests; nullptr: nothing of it is tracked.
void find_pending(int count, const MPI_Request* requests, PendingPtr* entries);
[[nodiscard]] inline PendingPtr pending_of(MPI_Request request) {
  PendingPtr entry;
  find_pending(1, &request, &entry);
  return entry;
}
/// The library may have given a completed request's handle away already: an entry that replaced this one stays.
void forget(MPI_Request request, const PendingPtr& entry);

/// Its requests may still be pending: their errors are raised at MPI_COMM_WORLD from now on.
void communicator_ends(MPI_Comm comm);

/// The arrays get what has arrived, once. @param status  not looked at for what completes as a whole
/// @return MPI_SUCCESS or the code of a refusal
int deliver(const char* call_name, Pending& pending, const MPI_Status* status);

/// The program has given up its handle of an active send: its bytes are kept until it completes.
void keep_until_complete(MPI_Request request, PendingPtr entry);
/// Frees what has completed among these; with `wait`, after waiting for all.
void release_completed(bool wait);

/// One call that completes requests, from before until after the library was asked.
class Completion {
 public:
  Completion(const char* call, int count, const MPI_Request* requests);
  /// What has not completed is remembered again.
  ~Completion();
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  /// No request has a tracked buffer: nothing to do.
  [[nodiscard]] bool none() const noexcept { return none_; }
  /// Those of these requests that have completed without error, and have brought what lies side by side, are delivered
  /// together; `completed` does the rest. @param indices  nullptr: the first ones
  void deliver_together(int count, const int* indices, const MPI_Status* statuses);
  /// Request `i` has completed without error. @return MPI_SUCCESS or the code of a refused delivery
  int completed(int i, const MPI_Status& status);
  void failed(int i);

 private:
  struct Entry {
    MPI_Request request;
    PendingPtr pending;
  };
  const char* call_;
  bool none_ = true;
  PerRequest<Entry> entries_;
};

}  // namespace semcache::mpi
