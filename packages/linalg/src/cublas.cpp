// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "cublas.hpp"
#include "gpu_kernels.hpp"
#include "library.hpp"
#include "loading.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace semcache::linalg {

namespace {

// What cuBLAS' own header declares, so that the package builds without CUDA.
using Handle = struct cublasContext*;
using Status = int;
constexpr Status success = 0;
constexpr int op_n = 0, op_t = 1, op_c = 2;              // cublasOperation_t
constexpr int side_left = 0, side_right = 1;             // cublasSideMode_t
constexpr int fill_lower = 0, fill_upper = 1;            // cublasFillMode_t
constexpr int diagonal_non_unit = 0, diagonal_unit = 1;  // cublasDiagType_t
constexpr const char* names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"};

void destroy_handles() noexcept;

/// A coefficient where cuBLAS may read it: it reads the 16 bytes of a complex number at once, from a multiple of 16.
class Coefficient {
 public:
  Coefficient(Scalar type, const void* number) noexcept {
    std::memcpy(bytes_, number, type == Scalar::s ? sizeof(float) : type == Scalar::z ? 2 * sizeof(double) : sizeof(double));
  }
  [[nodiscard]] const void* at() const noexcept { return bytes_; }

 private:
  alignas(16) unsigned char bytes_[16];
};

/// The type of the coefficients that a routine for Hermitian matrices takes as real numbers.
Scalar real(Scalar type) noexcept { return type == Scalar::z || type == Scalar::d ? Scalar::d : Scalar::s; }

class Cublas : public Library {
 public:
  Cublas() {
    file_ = load("cuBLAS", names, "Install CUDA's libraries, or put their folder into LD_LIBRARY_PATH");
    find(create_, "cublasCreate_v2");
    find(destroy_, "cublasDestroy_v2");
    find(set_stream_, "cublasSetStream_v2");
    runtime::before_end(&destroy_handles);  // which needs a library that has been loaded
  }

  void gemm(const runtime::Stream& stream, Scalar type, char transpose_a, char transpose_b, std::int32_t m, std::int32_t n, std::int32_t k,
            const void* alpha, const void* a, std::int32_t lda, const void* b, std::int32_t ldb, const void* beta, void* c,
            std::int32_t ldc) override {
    const Coefficient of_product(type, alpha), of_c(type, beta);
    of(gemm_, type)(stream, operation(transpose_a), operation(transpose_b), m, n, k, of_product.at(), a, lda, b, ldb, of_c.at(), c, ldc);
  }
  void symm(const runtime::Stream& stream, Scalar type, bool hermitian, char side, char triangle, std::int32_t m, std::int32_t n,
            const void* alpha, const void* a, std::int32_t lda, const void* b, std::int32_t ldb, const void* beta, void* c,
            std::int32_t ldc) override {
    const Coefficient of_product(type, alpha), of_c(type, beta);
    of(hermitian ? hemm_ : symm_, type)(stream, side_of(side), fill(triangle), m, n, of_product.at(), a, lda, b, ldb, of_c.at(), c, ldc);
  }
  void trmm(const runtime::Stream& stream, Scalar type, char side, char triangle, char transpose, char diagonal, std::int32_t m,
            std::int32_t n, const void* alpha, const void* a, std::int32_t lda, void* b, std::int32_t ldb) override {
    const Coefficient of_product(type, alpha);
    // cuBLAS has an operand for the result, which may be B.
    of(trmm_, type)(stream, side_of(side), fill(triangle), operation(transpose), diagonal_of(diagonal), m, n, of_product.at(), a, lda, b, ldb,
                    b, ldb);
  }
  void trsm(const runtime::Stream& stream, Scalar type, char side, char triangle, char transpose, char diagonal, std::int32_t m,
            std::int32_t n, const void* alpha, const void* a, std::int32_t lda, void* b, std::int32_t ldb) override {
    const Coefficient of_b(type, alpha);
    of(trsm_, type)(stream, side_of(side), fill(triangle), operation(transpose), diagonal_of(diagonal), m, n, of_b.at(), a, lda, b, ldb);
  }
  void syrk(const runtime::Stream& stream, Scalar type, bool hermitian, char triangle, char transpose, std::int32_t n, std::int32_t k,
            const void* alpha, const void* a, std::int32_t lda, const void* beta, void* c, std::int32_t ldc) override {
    const Scalar of_both = hermitian ? real(type) : type;
    const Coefficient of_product(of_both, alpha), of_c(of_both, beta);
    of(hermitian ? herk_ : syrk_, type)(stream, fill(triangle), operation(transpose), n, k, of_product.at(), a, lda, of_c.at(), c, ldc);
  }
  void syr2k(const runtime::Stream& stream, Scalar type, bool hermitian, char triangle, char transpose, std::int32_t n, std::int32_t k,
             const void* alpha, const void* a, std::int32_t lda, const void* b, std::int32_t ldb, const void* beta, void* c,
             std::int32_t ldc) override {
    const Coefficient of_product(type, alpha), of_c(hermitian ? real(type) : type, beta);
    of(hermitian ? her2k_ : syr2k_, type)(stream, fill(triangle), operation(transpose), n, k, of_product.at(), a, lda, b, ldb, of_c.at(), c, ldc);
  }
  void gemv(const runtime::Stream& stream, Scalar type, char transpose, std::int32_t m, std::int32_t n, const void* alpha, const void* a,
            std::int32_t lda, const void* x, const void* beta, void* y) override {
    const Coefficient of_product(type, alpha), of_y(type, beta);
    of(gemv_, type)(stream, operation(transpose), m, n, of_product.at(), a, lda, x, 1, of_y.at(), y, 1);
  }
  void axpby(const runtime::Stream& stream, Scalar type, std::uint64_t n, const void* alpha, const void* x, const void* beta, void* y) override {
    gpu::axpby(stream, type, n, alpha, x, beta, y);
  }
  void axpby_of_quotients(const runtime::Stream& stream, Scalar type, std::uint64_t n, const void* alpha, const Quotient& of_alpha, const void* x,
                          const void* beta, const Quotient& of_beta, void* y) override {
    gpu::axpby_of_quotients(stream, type, n, alpha, of_alpha, x, beta, of_beta, y);
  }
  void sum(const runtime::Stream& stream, Scalar type, std::uint64_t count, const void* numbers, void* result) override {
    gpu::sum(stream, type, count, numbers, result);
  }
  void block_dots(const runtime::Stream& stream, Scalar type, std::uint64_t n, std::uint64_t block, const void* x, const void* y,
                  void* sums) override {
    gpu::block_dots(stream, type, n, block, x, y, sums);
  }
  void spmv(const runtime::Stream& stream, Scalar type, std::uint64_t rows, const void* alpha, const std::int32_t* row_pointers,
            const std::int32_t* columns, const void* values, std::uint64_t entries, RowLengths lengths, const void* x, const void* beta,
            void* y) override {
    gpu::spmv(stream, type, rows, alpha, row_pointers, columns, values, entries, lengths, x, beta, y);
  }
  void spmm(const runtime::Stream& stream, Scalar type, std::uint64_t rows, std::int32_t vectors, const void* alpha,
            const std::int32_t* row_pointers, const std::int32_t* columns, const void* values, std::uint64_t entries, RowLengths lengths,
            const void* x, std::uint64_t leading_x, const void* beta, void* y, std::uint64_t leading_y) override {
    gpu::spmm(stream, type, rows, vectors, alpha, row_pointers, columns, values, entries, lengths, x, leading_x, beta, y, leading_y);
  }

  AnyFunction function(const char* name) {
    AnyFunction found = nullptr;
    find(found, name);
    return found;
  }
  void call(const runtime::Stream& stream, const char* routine, const std::function<int(void*)>& body) {
    with_handle(stream, routine, [&](Handle handle) { return body(handle); });
  }

  /// The runtime ends, and with it its streams. Its devices may be others in the next one, and their contexts new. Calls of other threads may be under
  /// way, and begin, until the runtime keeps them out: such a call makes its handle anew.
  void end() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [where, kept] : handles_) {
      const std::lock_guard<std::mutex> of_handle(kept.mutex);
      if (kept.handle == nullptr) continue;
      const runtime::OnDevice on(where.first);
      (void)destroy_(std::exchange(kept.handle, nullptr));  // waits for its work
    }
  }

 private:
  static CublasRoutine& of(CublasRoutine (&of_types)[4], Scalar type) noexcept { return of_types[static_cast<std::size_t>(type)]; }
  static int operation(char transpose) noexcept { return transpose == 'N' ? op_n : transpose == 'T' ? op_t : op_c; }

  static int side_of(char side) noexcept { return side == 'L' ? side_left : side_right; }
  static int fill(char triangle) noexcept { return triangle == 'L' ? fill_lower : fill_upper; }
  static int diagonal_of(char diagonal) noexcept { return diagonal == 'U' ? diagonal_unit : diagonal_non_unit; }

  template <class Function>
  void find(Function& function, const char* name) {
    linalg::find(file_, "cuBLAS", function, name, "another version is needed (11 to 13)");
  }

  /// A handle for each stream of a runtime, made at its first use. cuBLAS handles are not for several threads at once.
  struct Kept {
    std::mutex mutex;
    Handle handle = nullptr;
  };
  template <class Body>
  void with_handle(const runtime::Stream& stream, const char* routine, const Body& body) {
    // A place stays where it is as long as the process lives. The queue's number is another one in each runtime.
    struct Last {
      std::uint32_t device = 0, queue = 0;
      Kept* kept = nullptr;
    };
    static thread_local Last last;
    if (last.kept == nullptr || last.device != stream.device || last.queue != stream.queue.value) {
      const std::lock_guard<std::mutex> lock(mutex_);
      last = {stream.device, stream.queue.value, &handles_[{stream.device, stream.queue.value}]};
    }
    Kept* const kept = last.kept;
    const std::lock_guard<std::mutex> lock(kept->mutex);
    if (kept->handle == nullptr) {
      Handle made = nullptr;
      expect(create_(&made), "cublasCreate", stream);
      const Status status = set_stream_(made, stream.native);
      if (status != success) (void)destroy_(made);
      expect(status, "cublasSetStream", stream);
      kept->handle = made;
    }
    expect(body(kept->handle), routine, stream);
  }
  static void expect(Status status, const char* routine, const runtime::Stream& stream) {
    if (status == success) return;
    throw DeviceError(std::string("cuBLAS: ") + routine + " on device " + std::to_string(stream.device) + " failed with status " +
                      std::to_string(status) + (status == 3 ? " (no memory: lower SEMCACHE_DEVICE_MEMORY, so that cuBLAS finds room)" : ""));
  }

  void* file_ = nullptr;
  Status (*create_)(Handle*) = nullptr;
  Status (*destroy_)(Handle) = nullptr;
  Status (*set_stream_)(Handle, void*) = nullptr;
#define SEMCACHE_COMPLEX_ROUTINES(name) CublasRoutine("cublasC" name "_v2"), CublasRoutine("cublasZ" name "_v2")
#define SEMCACHE_ROUTINES(name) {CublasRoutine("cublasS" name "_v2"), CublasRoutine("cublasD" name "_v2"), SEMCACHE_COMPLEX_ROUTINES(name)}
#define SEMCACHE_HERMITIAN_ROUTINES(name) {CublasRoutine(""), CublasRoutine(""), SEMCACHE_COMPLEX_ROUTINES(name)}
  CublasRoutine gemm_[4] SEMCACHE_ROUTINES("gemm"), gemv_[4] SEMCACHE_ROUTINES("gemv");
  CublasRoutine trmm_[4] SEMCACHE_ROUTINES("trmm"), trsm_[4] SEMCACHE_ROUTINES("trsm");
  CublasRoutine symm_[4] SEMCACHE_ROUTINES("symm"), hemm_[4] SEMCACHE_HERMITIAN_ROUTINES("hemm");
  CublasRoutine syrk_[4] SEMCACHE_ROUTINES("syrk"), herk_[4] SEMCACHE_HERMITIAN_ROUTINES("herk");
  CublasRoutine syr2k_[4] SEMCACHE_ROUTINES("syr2k"), her2k_[4] SEMCACHE_HERMITIAN_ROUTINES("her2k");
#undef SEMCACHE_HERMITIAN_ROUTINES
#undef SEMCACHE_ROUTINES
#undef SEMCACHE_COMPLEX_ROUTINES
  std::mutex mutex_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Kept> handles_;  // by device and queue
};

Cublas& loaded() {
  // Never destroyed: the library's own statics may end first, and with them what its handles need.
  static Cublas* const c = new Cublas;
  return *c;
}
void destroy_handles() noexcept { loaded().end(); }

}  // namespace

Library& cublas() { return loaded(); }

void CublasRoutine::call(const runtime::Stream& stream, const std::function<int(void*, AnyFunction)>& body) {
  AnyFunction function = function_.load(std::memory_order_acquire);
  if (function == nullptr) {
    function = loaded().function(name_);
    function_.store(function, std::memory_order_release);
  }
  loaded().call(stream, name_, [&](void* handle) { return body(handle, function); });
}

}  // namespace semcache::linalg
