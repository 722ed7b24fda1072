// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "calls.hpp"

#include <semcache/runtime/runtime.hpp>

#include <algorithm>
#include <stdexcept>

namespace linalg_miniapps {

namespace linalg = semcache::linalg;
using linalg::Transpose;

template <class T>
HostArray<T>::HostArray(const char* label, std::size_t count)
    : data_(static_cast<T*>(semcache::runtime::allocate_host(label, std::max<std::size_t>(1, count) * sizeof(T)))), count_(count) {}
template <class T>
HostArray<T>::~HostArray() {
  semcache::runtime::deallocate(data_);
}
template class HostArray<double>;
template class HostArray<std::int32_t>;

namespace {

class WithCache : public Calls {
 public:
  void multiply(std::int64_t n, const double* a, const double* b, double* c) override {
    linalg::gemm(Transpose::no, Transpose::no, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
  }
  void multiply(std::int64_t n, double alpha, const double* a, const double* x, double beta, double* y) override {
    linalg::gemv(Transpose::no, n, n, alpha, a, n, x, beta, y);
  }
  void multiply(const linalg::Csr<double>& a, const double* x, double* y) override { linalg::spmv(1.0, a, x, 0.0, y); }
  void add(std::int64_t n, double alpha, const double* x, double beta, double* y) override { linalg::axpby(n, alpha, x, beta, y); }
  double dot(std::int64_t n, const double* x, const double* y) override { return linalg::dot(n, x, y); }
};

/// A copy of host memory on the first device, as long as a call lasts.
template <class T>
class Copy {
 public:
  Copy(const T* host, std::int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
    device_ = static_cast<T*>(semcache::runtime::allocate_device("copy for a call", std::max<std::size_t>(1, bytes_)));
    if (host != nullptr) semcache::runtime::copy(device_, host, bytes_, semcache::runtime::queue_of(nullptr));
  }
  ~Copy() { semcache::runtime::deallocate(device_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  void back_to(T* host) const {
    semcache::runtime::copy(host, device_, bytes_, semcache::runtime::queue_of(nullptr));
    semcache::access(host, bytes_, semcache::Access::read);
  }
  [[nodiscard]] T* data() const noexcept { return device_; }

 private:
  T* device_;
  std::size_t bytes_;
};

class CopyingEveryCall : public Calls {
 public:
  CopyingEveryCall() { linalg::set_options({linalg::Spread::never, 1, 1}); }
  void multiply(std::int64_t n, const double* a, const double* b, double* c) override {
    const Copy<double> da(a, n * n), db(b, n * n), dc(nullptr, n * n);
    calls_.multiply(n, da.data(), db.data(), dc.data());
    dc.back_to(c);
  }
  void multiply(std::int64_t n, double alpha, const double* a, const double* x, double beta, double* y) override {
    const Copy<double> da(a, n * n), dx(x, n), dy(beta == 0.0 ? nullptr : y, n);
    calls_.multiply(n, alpha, da.data(), dx.data(), beta, dy.data());
    dy.back_to(y);
  }
  void multiply(const linalg::Csr<double>& a, const double* x, double* y) override {
    const Copy<std::int32_t> rows(a.row_pointers, a.rows + 1), columns(a.column_indices, a.entries);
    const Copy<double> values(a.values, a.entries), dx(x, a.columns), dy(nullptr, a.rows);
    calls_.multiply({a.rows, a.columns, a.entries, rows.data(), columns.data(), values.data()}, dx.data(), dy.data());
    dy.back_to(y);
  }
  void add(std::int64_t n, double alpha, const double* x, double beta, double* y) override {
    const Copy<double> dx(x, n), dy(beta == 0.0 ? nullptr : y, n);
    calls_.add(n, alpha, dx.data(), beta, dy.data());
    dy.back_to(y);
  }
  double dot(std::int64_t n, const double* x, const double* y) override {
    const Copy<double> dx(x, n), dy(y, n);
    return calls_.dot(n, dx.data(), dy.data());
  }

 private:
  WithCache calls_;
};

}  // namespace

std::unique_ptr<Calls> make_calls(const std::string& variant) {
  if (variant == "semcache") return std::make_unique<WithCache>();
  if (variant == "copy-every-call") return std::make_unique<CopyingEveryCall>();
  throw std::invalid_argument("there is no variant '" + variant + "': it must be semcache or copy-every-call");
}

}  // namespace linalg_miniapps
