// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "errors.hpp"

#include <cstdio>
#include <cstring>
#include <mutex>

#include <unistd.h>

namespace semcache::mpi {
namespace {

struct Text {
  int error_class;
  const char* text;
};

Text text_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::one_sided:
      return {
          MPI_ERR_BUFFER,
          "SemCache: one-sided communication from or to tracked memory is not supported; copy to memory that is not "
          "tracked, or use two-sided calls"};
    case Refusal::window_memory:
      return {MPI_ERR_BASE, "SemCache: tracked memory cannot be the memory of a window; use MPI_Win_allocate and copy"};
    case Refusal::attached_buffer:
      return {MPI_ERR_BUFFER, "SemCache: tracked memory cannot be attached as MPI's own buffer; attach memory that is not tracked"};
    case Refusal::split_file_access:
      return {MPI_ERR_BUFFER,
              "SemCache: split collective file access with tracked memory is not supported; use the "
              "blocking or the non-blocking call"};
    case Refusal::fortran:
      return {MPI_ERR_BUFFER,
              "SemCache: MPI's Fortran interface with tracked memory is not supported; call its C interface, or "
              "copy to memory that is not tracked"};
    case Refusal::mpi_4:
      return {MPI_ERR_BUFFER,
              "SemCache: this call of MPI 4 with tracked memory is not supported; use MPI 3's, or copy to memory that "
              "is not tracked"};
    case Refusal::free_pending_receive:
      return {MPI_ERR_REQUEST,
              "SemCache: a pending receive into tracked memory cannot be freed: nobody would learn when the "
              "array has its new value. Wait for it, or cancel it and wait"};
    case Refusal::start_active:
      return {MPI_ERR_REQUEST,
              "SemCache: a persistent request with tracked memory is started already: complete it first"};
    case Refusal::failed:
      break;
  }
  return {MPI_ERR_OTHER, "SemCache: the buffer in tracked memory cannot be used; the line on stderr says why"};
}

int code_of(Refusal refusal) {
  static std::mutex mutex;
  static int codes[9] = {};
  const std::lock_guard<std::mutex> lock(mutex);
  int& code = codes[static_cast<int>(refusal)];
  if (code == 0) {
    const Text text = text_of(refusal);
    if (PMPI_Add_error_code(text.error_class, &code) != MPI_SUCCESS) return MPI_ERR_OTHER;
    (void)PMPI_Add_error_string(code, text.text);
  }
  return code;
}

}  // namespace

int ErrorTarget::raise(int code) const {
  switch (kind_) {
    case Kind::communicator:
      PMPI_Comm_call_errhandler(comm_, code);
      break;
    case Kind::window:
      PMPI_Win_call_errhandler(window_, code);
      break;
    case Kind::file:
      PMPI_File_call_errhandler(file_, code);
      break;
  }
  return code;
}

int refuse(const ErrorTarget& target, Refusal refusal, const char* call, const char* what) {
  char line[1024];
  std::snprintf(line, sizeof line, "semcache: %s: %s\n", call, what != nullptr ? what : text_of(refusal).text);
  (void)!::write(2, line, std::strlen(line));
  return target.raise(code_of(refusal));
}

}  // namespace semcache::mpi
