// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "cuda_variants.hpp"
#include "cusparse_matrix.hpp"

#include <cmath>
#include <stdexcept>

namespace linalg_miniapps {

namespace {

/// A vector of the first device.
using Vector = DeviceArray<double>;

class Vendor : public Variant {
 public:
  explicit Vendor(int devices) : devices_(expect_devices("--variant vendor", devices, 1)), stream_(0), blas_(0, stream_) {}
  void* allocate_host(const char*, std::size_t bytes) override { return allocate_page_locked(bytes); }
  void deallocate_host(void* data) noexcept override { free_page_locked(data); }

  std::unique_ptr<GemmSum> gemm_sum(std::int64_t, const double*, const double*, const double*, double*) override { refuse(); }
  void jacobi(std::int64_t, const double*, const double*, double*, Iterations&) override { refuse(); }

  double cg(const Csr& a, const double* b, double* x, Iterations& iterations) override {
    const DeviceArray<std::int32_t> row_pointers(0, a.rows + 1), columns(0, a.entries);
    const Vector values(0, a.entries), vx(0, a.rows), r(0, a.rows), p(0, a.rows), q(0, a.rows);
    const CusparseMatrix matrix({a.rows, a.entries, row_pointers.data(), columns.data(), values.data()}, p.data(), q.data(), stream_);

    iterations.begin();
    copies_.to_device(row_pointers.data(), a.row_pointers, a.rows + 1, stream_);
    copies_.to_device(columns.data(), a.column_indices, a.entries, stream_);
    copies_.to_device(values.data(), a.values, a.entries, stream_);
    copies_.to_device(p.data(), x, a.rows, stream_);
    copies_.to_device(r.data(), b, a.rows, stream_);
    // r = b - A x, p = r. p is x first.
    matrix.multiply();
    copy(p, vx);
    add(-1.0, q, r);
    copy(r, p);
    double rr = dot(r, r);
    for (int k = 0; k < iterations.count() && rr > 0; ++k) {
      matrix.multiply();
      const double alpha = rr / dot(p, q);
      add(alpha, p, vx);
      add(-alpha, q, r);
      const double next = dot(r, r), beta = next / rr;
      LINALG_EXPECT(cublasDscal(blas_, count(p), &beta, p.data(), 1));
      add(1.0, r, p);
      rr = next;
      iterations.end(std::sqrt(rr));
    }
    copies_.to_host(x, vx.data(), a.rows, stream_);
    stream_.wait();
    return rr;
  }
  Facts facts() override { return facts_of(devices_, copies_.moved()); }

 private:
  [[noreturn]] static void refuse() { throw std::logic_error("--variant vendor has sparse matrices only"); }
  static int count(const Vector& v) { return static_cast<int>(v.size()); }
  void copy(const Vector& from, const Vector& to) { LINALG_EXPECT(cublasDcopy(blas_, count(from), from.data(), 1, to.data(), 1)); }
  void add(double alpha, const Vector& x, const Vector& y) { LINALG_EXPECT(cublasDaxpy(blas_, count(x), &alpha, x.data(), 1, y.data(), 1)); }
  double dot(const Vector& x, const Vector& y) {
    double result = 0;
    LINALG_EXPECT(cublasDdot(blas_, count(x), x.data(), 1, y.data(), 1, &result));  // waits for it
    return result;
  }

  int devices_;
  Stream stream_;
  Blas blas_;
  Copies copies_;
};

}  // namespace

std::unique_ptr<Variant> make_vendor(int devices) { return std::make_unique<Vendor>(devices); }

}  // namespace linalg_miniapps
