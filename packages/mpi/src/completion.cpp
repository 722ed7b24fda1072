// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The calls that complete, start or free requests. What a non-blocking receive brings becomes the array's new content here,
// not before.
#include "layer.hpp"
#include "pending.hpp"

#include <mutex>

using namespace semcache::mpi;

const char semcache::mpi::completion_part = 0;

namespace {

/// The statuses that the library writes: the caller's, or statuses of the layer's own where the caller ignores them.
class Statuses {
 public:
  /// Statuses of several requests. The library usually writes MPI_ERROR only if some request failed, so the errors are
  /// set to MPI_SUCCESS first.
  Statuses(MPI_Status* callers, bool ignored, int count)
      : own_(ignored ? count : 0), use_(ignored ? own_.begin() : callers), wanted_(!ignored) {
    for (int i = 0; use_ != nullptr && i < count; ++i) use_[i].MPI_ERROR = MPI_SUCCESS;
  }
  /// The status of one request. The call returns the request's error, and MPI_ERROR stays unchanged.
  Statuses(MPI_Status* callers, bool ignored)
      : own_(ignored ? 1 : 0), use_(ignored ? own_.begin() : callers), wanted_(!ignored) {}
  [[nodiscard]] MPI_Status* get() noexcept { return use_; }
  [[nodiscard]] MPI_Status& operator[](int i) noexcept { return use_[i]; }
  [[nodiscard]] bool wanted() const noexcept { return wanted_; }

 private:
  PerRequest<MPI_Status> own_;
  MPI_Status* use_;
  bool wanted_;
};

/// Delivers after a call that completed `count` requests, some perhaps with an error: those that `indices` names, or the
/// first ones. @return the code that the call returns
int complete_several(Completion& done, const int code, int count, const int* indices, Statuses& statuses) {
  if ((code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) || count == MPI_UNDEFINED) return code;
  int refused = MPI_SUCCESS;
  done.deliver_together(count, indices, statuses.get());
  for (int k = 0; k < count; ++k) {
    const int i = indices != nullptr ? indices[k] : k;
    int& own = statuses[k].MPI_ERROR;
    if (own == MPI_ERR_PENDING) continue;
    if (own != MPI_SUCCESS) {
      done.failed(i);
    } else if (own = done.completed(i, statuses[k]); own != MPI_SUCCESS) {
      refused = own;
    }
  }
  if (refused == MPI_SUCCESS) return code;
  return statuses.wanted() ? MPI_ERR_IN_STATUS : refused;
}

/// Delivers after a call that completed one request. @return the code that the call returns
int complete_one(Completion& done, int code, int index, const MPI_Status& status) {
  if (index == MPI_UNDEFINED) return code;
  if (code == MPI_SUCCESS) return done.completed(index, status);
  done.failed(index);
  return code;
}

/// Starts persistent requests. Their contents are fetched first; all these transfers are under way together.
template <class Forward>
int start_requests(const char* name, int count, const MPI_Request* requests, Forward&& forward) {
  if (requests == nullptr) return forward();  // the library reports an error
  PerRequest<PendingPtr> started(count);
  find_pending(count, requests, started.begin());
  for (const PendingPtr& p : started) {
    if (p == nullptr) continue;
    if (p->active) return refuse(p->target, Refusal::start_active, name, nullptr);  // Open MPI reports no error
  }
  const Pending* at_work = nullptr;
  try {
    for (const PendingPtr& p : started) {
      if (p == nullptr) continue;
      at_work = p.get();
      p->call.start();
    }
    for (const PendingPtr& p : started) {
      if (p == nullptr) continue;
      at_work = p.get();
      p->call.ready();
    }
  } catch (const std::exception& e) {
    return refuse(at_work->target, Refusal::failed, name, e.what());
  }
  const int code = forward();
  if (code == MPI_SUCCESS) {
    for (const PendingPtr& p : started) {
      if (p != nullptr) p->active = true;
    }
  }
  return code;
}

}  // namespace

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  Completion done("MPI_Wait", 1, request);
  if (done.none()) return PMPI_Wait(request, status);
  Statuses own(status, status == MPI_STATUS_IGNORE);
  return complete_one(done, PMPI_Wait(request, own.get()), 0, own[0]);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Completion done("MPI_Test", 1, request);
  if (done.none() || flag == nullptr) return PMPI_Test(request, flag, status);
  Statuses own(status, status == MPI_STATUS_IGNORE);
  const int code = PMPI_Test(request, flag, own.get());
  return complete_one(done, code, code == MPI_SUCCESS && *flag == 0 ? MPI_UNDEFINED : 0, own[0]);
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  Completion done("MPI_Waitall", count, requests);
  if (done.none()) return PMPI_Waitall(count, requests, statuses);
  Statuses own(statuses, statuses == MPI_STATUSES_IGNORE, count);
  return complete_several(done, PMPI_Waitall(count, requests, own.get()), count, nullptr, own);
}

int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Completion done("MPI_Testall", count, requests);
  if (done.none()) return PMPI_Testall(count, requests, flag, statuses);
  Statuses own(statuses, statuses == MPI_STATUSES_IGNORE, count);
  const int code = PMPI_Testall(count, requests, flag, own.get());
  return code == MPI_SUCCESS && *flag == 0 ? code : complete_several(done, code, count, nullptr, own);
}

int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  Completion done("MPI_Waitany", count, requests);
  if (done.none() || index == nullptr) return PMPI_Waitany(count, requests, index, status);
  Statuses own(status, status == MPI_STATUS_IGNORE);
  *index = MPI_UNDEFINED;
  const int code = PMPI_Waitany(count, requests, index, own.get());
  return complete_one(done, code, *index, own[0]);
}

int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Completion done("MPI_Testany", count, requests);
  if (done.none() || index == nullptr) return PMPI_Testany(count, requests, index, flag, status);
  Statuses own(status, status == MPI_STATUS_IGNORE);
  *index = MPI_UNDEFINED;
  const int code = PMPI_Testany(count, requests, index, flag, own.get());
  return code == MPI_SUCCESS && *flag == 0 ? code : complete_one(done, code, *index, own[0]);
}

int MPI_Waitsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
  Completion done("MPI_Waitsome", count, requests);
  if (done.none() || completed == nullptr || indices == nullptr)
    return PMPI_Waitsome(count, requests, completed, indices, statuses);
  Statuses own(statuses, statuses == MPI_STATUSES_IGNORE, count);
  const int code = PMPI_Waitsome(count, requests, completed, indices, own.get());
  return complete_several(done, code, *completed, indices, own);
}

int MPI_Testsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
  Completion done("MPI_Testsome", count, requests);
  if (done.none() || completed == nullptr || indices == nullptr)
    return PMPI_Testsome(count, requests, completed, indices, statuses);
  Statuses own(statuses, statuses == MPI_STATUSES_IGNORE, count);
  const int code = PMPI_Testsome(count, requests, completed, indices, own.get());
  return complete_several(done, code, *completed, indices, own);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const PendingPtr p = pending_of(request);
  if (p == nullptr) return PMPI_Request_get_status(request, flag, status);
  // Several threads may ask for one request. Each thread that gets the answer "complete" must find the content in the array.
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  Statuses own(status, status == MPI_STATUS_IGNORE);
  const int code = PMPI_Request_get_status(request, flag, own.get());
  if (code != MPI_SUCCESS || *flag == 0) return code;
  const int refused = deliver("MPI_Request_get_status", *p, own.get());
  if (refused != MPI_SUCCESS) p->delivered = false;  // so the call that completes the request reports the error again
  return refused;
}

int MPI_Start(MPI_Request* request) {
  return start_requests("MPI_Start", 1, request, [&] { return PMPI_Start(request); });
}

int MPI_Startall(int count, MPI_Request* requests) {
  return start_requests("MPI_Startall", count, requests, [&] { return PMPI_Startall(count, requests); });
}

int MPI_Request_free(MPI_Request* request) {
  const PendingPtr p = request != nullptr ? pending_of(*request) : nullptr;
  if (p == nullptr) return PMPI_Request_free(request);
  const MPI_Request freed = *request;
  if (p->active && p->completes == Completes::as_a_whole) {
    // The request of a collective that is not complete cannot be freed; the library reports that.
    if (p->call.receives() && is_complete(freed)) {
      if (const int code = deliver("MPI_Request_free", *p, nullptr); code != MPI_SUCCESS) return code;
    }
    if (!p->call.receives() || p->delivered) {
      const int code = PMPI_Request_free(request);
      if (code == MPI_SUCCESS) forget(freed, p);
      return code;
    }
  }
  if (p->active && p->call.receives() && !p->delivered) {
    return refuse(p->target, Refusal::free_pending_receive, "MPI_Request_free", nullptr);
  }
  if (p->active) {
    keep_until_complete(freed, p);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  forget(freed, p);
  return PMPI_Request_free(request);
}

int MPI_Comm_free(MPI_Comm* comm) {
  if (comm != nullptr) communicator_ends(*comm);
  return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm* comm) {
  if (comm != nullptr) communicator_ends(*comm);
  return PMPI_Comm_disconnect(comm);
}

int MPI_Finalize() {
  release_completed(true);
  return PMPI_Finalize();
}

}  // extern "C"
