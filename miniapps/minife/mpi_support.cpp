// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/mpi_support.hpp>

// Open MPI's extensions, among them a query that asks the loaded library.
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <array>

namespace minife {
namespace {

double reduce(double value, MPI_Op operation, MPI_Comm comm) {
  double result = 0;
  check_mpi(MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, operation, comm), "MPI_Allreduce");
  return result;
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw MpiError(std::string(call) + " failed with code " + std::to_string(code) + ": " +
                 std::string(text.data(), static_cast<std::size_t>(length)) +
                 ". Check that all ranks still run and that they run the same program.");
}

bool mpi_takes_device_addresses() noexcept {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

MpiSession::MpiSession(int& argc, char**& argv) {
  int provided = 0;
  check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &ranks_), "MPI_Comm_size");
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  check_mpi(MPI_Comm_rank(node, &rank_on_node_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(node, &ranks_on_node_), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
}

MpiSession::~MpiSession() { MPI_Finalize(); }

double sum(double value, MPI_Comm comm) { return reduce(value, MPI_SUM, comm); }
double minimum(double value, MPI_Comm comm) { return reduce(value, MPI_MIN, comm); }
double maximum(double value, MPI_Comm comm) { return reduce(value, MPI_MAX, comm); }

void sum_in_place(std::vector<std::uint64_t>& values, MPI_Comm comm) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_SUM, comm),
            "MPI_Allreduce");
}

}  // namespace minife
