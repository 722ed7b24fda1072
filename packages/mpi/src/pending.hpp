// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "call.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace semcache::mpi {

/// One T for each request of a call. Up to `few` of them need no allocation.
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

/// The registry's entry for a request with tracked buffers.
struct Pending {
  ErrorTarget target;
  Call call;
  Completes completes;
  bool active;             ///< started and not completed; false: a persistent request at rest
  bool delivered = false;  ///< the arrays have what arrived, although the request may not be freed yet (Request_get_status)
};

using PendingPtr = std::shared_ptr<Pending>;
/// Finds the entries of `count` requests. An entry stays nullptr where the request has no tracked buffer.
void find_pending(int count, const MPI_Request* requests, PendingPtr* entries);
[[nodiscard]] inline PendingPtr pending_of(MPI_Request request) {
  PendingPtr entry;
  find_pending(1, &request, &entry);
  return entry;
}
/// Removes the entry of a request from the registry. If the library has already given the handle to another request, the
/// entry of that request stays.
void forget(MPI_Request request, const PendingPtr& entry);

/// Prepares for the end of a communicator. Its requests may still be pending, so their errors are raised at MPI_COMM_WORLD
/// from now on.
void communicator_ends(MPI_Comm comm);

/// Makes what has arrived the arrays' new content, once for each start.
/// @param status  not read for a request that completes as a whole
/// @return MPI_SUCCESS or the code of a refusal
int deliver(const char* call_name, Pending& pending, const MPI_Status* status);

/// Keeps the bytes of an active send whose handle the program has given up, until the send completes.
void keep_until_complete(MPI_Request request, PendingPtr entry);
/// Frees those of the kept sends that have completed; with `wait`, waits for all of them and frees them.
void release_completed(bool wait);

/// One call that completes requests. It lives from before the library is called until after.
class Completion {
 public:
  Completion(const char* call, int count, const MPI_Request* requests);
  /// Enters the requests that have not completed in the registry again.
  ~Completion();
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  /// Returns whether no request has a tracked buffer, so that the call passes through.
  [[nodiscard]] bool none() const noexcept { return none_; }
  /// Delivers together those messages that have completed without error and lie side by side. `completed` does the rest,
  /// so a failure here is reported there.
  /// @param indices  the requests that `statuses` belong to; nullptr: the first `count` ones
  void deliver_together(int count, const int* indices, const MPI_Status* statuses);
  /// Delivers request `i`, which has completed without error. @return MPI_SUCCESS or the code of a refused delivery
  int completed(int i, const MPI_Status& status);
  /// Ends request `i`, which has completed with an error, without delivering anything.
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
