// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "calls.hpp"
#include "cuda_variants.hpp"
#include "run.hpp"

#include <semcache/runtime/runtime.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace linalg_miniapps {

namespace linalg = semcache::linalg;
using linalg::Transpose;

namespace {

/// The calls of packages/linalg on the host's arrays, over all devices.
class WithCache : public Calls {
 public:
  explicit WithCache(int devices) {
    if (devices > 0) semcache::use_devices(devices);
  }
  void* allocate_host(const char* label, std::size_t bytes) override { return semcache::runtime::allocate_host(label, bytes); }
  void deallocate_host(void* data) noexcept override { semcache::runtime::deallocate(data); }
  void multiply(std::int64_t n, const double* a, const double* b, double* c) override {
    linalg::gemm(Transpose::no, Transpose::no, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
  }
  void multiply(std::int64_t n, double alpha, const double* a, const double* x, double beta, double* y) override {
    linalg::gemv(Transpose::no, n, n, alpha, a, n, x, beta, y);
  }
  void multiply(const Csr& a, const double* x, double* y) override { linalg::spmv(1.0, a, x, 0.0, y); }
  void add(std::int64_t n, double alpha, const double* x, double beta, double* y) override { linalg::axpby(n, alpha, x, beta, y); }
  double dot(std::int64_t n, const double* x, const double* y) override { return linalg::dot(n, x, y); }
  void begin_dot(std::size_t place, std::int64_t n, const double* x, const double* y) override {
    if (!dots_[place]) dots_[place].emplace();
    linalg::dot(n, x, y, *dots_[place]);
  }
  double end_dot(std::size_t place) override { return dots_[place]->get(); }
  void expect_reading(const double* first, std::int64_t count) override { semcache::prefetch(first, static_cast<std::size_t>(count) * sizeof(double)); }
  double cg_with_device_scalars(const Csr& a, const double* b, double* x, int count, std::vector<double>& seconds) override {
    using Factor = linalg::Factor<double>;
    const std::int64_t rows = a.rows;
    const auto size = static_cast<std::size_t>(rows);
    const HostArray<double> r(*this, "r", size), p(*this, "p", size), q(*this, "q", size);
    linalg::DeviceScalar<double> one, two, pq;
    linalg::DeviceScalar<double>*rr = &one, *next = &two;
    seconds.clear();
    double begin = now();
    // r = b - A x, p = r
    multiply(a, x, q.data());
    add(rows, 1.0, b, 0.0, r.data());
    add(rows, -1.0, q.data(), 1.0, r.data());
    add(rows, 1.0, r.data(), 0.0, p.data());
    linalg::dot(rows, r.data(), r.data(), *rr);
    for (int k = 0; k < count; ++k) {
      multiply(a, p.data(), q.data());
      linalg::dot(rows, p.data(), q.data(), pq);
      linalg::axpby(rows, Factor(*rr, pq), p.data(), 1.0, x);
      linalg::axpby(rows, Factor(*rr, pq, -1.0), q.data(), 1.0, r.data());
      linalg::dot(rows, r.data(), r.data(), *next);
      linalg::axpby(rows, 1.0, r.data(), Factor(*next, *rr), p.data());
      std::swap(rr, next);
      if (k > 0) continue;
      linalg::wait();  // the matrix has come
      const double end = now();
      seconds.push_back(end - begin);
      begin = end;
    }
    linalg::wait();
    if (count > 1) seconds.resize(static_cast<std::size_t>(count), (now() - begin) / (count - 1));
    return rr->get();
  }
  Facts facts() override {
    const semcache::Statistics s = semcache::statistics();
    return {s.device_count, s.device_kind, s.device_name, s.total, s.links};
  }
  void end() override {
    for (auto& dot : dots_) dot.reset();
    semcache::finalize();
  }

 private:
  std::optional<linalg::DeviceScalar<double>> dots_[2];
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

/// Each call copies its operands to the first device, computes there and copies its result back, as a library without a cache must.
class CopyingEveryCall : public Calls {
 public:
  explicit CopyingEveryCall(int devices) : calls_(devices) { linalg::set_options({linalg::Spread::never, 1, 1}); }
  void* allocate_host(const char* label, std::size_t bytes) override { return calls_.allocate_host(label, bytes); }
  void deallocate_host(void* data) noexcept override { calls_.deallocate_host(data); }
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
  void multiply(const Csr& a, const double* x, double* y) override {
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
  Facts facts() override { return calls_.facts(); }
  void end() override { calls_.end(); }

 private:
  WithCache calls_;
};

}  // namespace

double Variant::cg_with_device_scalars(const Csr&, const double*, double*, int, std::vector<double>&) {
  throw semcache::ConfigurationError("--device-scalars: this variant reads its scalars on the host. Choose --variant semcache");
}

std::vector<std::string> variant_names(Kind kind) {
  std::vector<std::string> names{"semcache", "copy-every-call", "hand-tuned", "unified"};
  if (kind == Kind::sparse) names.push_back("vendor");
  if (kind == Kind::products) names.push_back("cublasxt");
  return names;
}

std::string describe_variants(Kind kind) {
  std::string text =
      "semcache: calls of packages/linalg; copy-every-call: each call copies its operands and its result; hand-tuned: CUDA and cuBLAS with copies "
      "placed by hand; unified: the calls on CUDA's managed memory, on one device";
  if (kind == Kind::sparse) text += "; vendor: cuSPARSE and cuBLAS on one device";
  if (kind == Kind::products) text += "; cublasxt: calls of cuBLASXt";
  const std::string missing = why_no_cuda_variants();
  return missing.empty() ? text : text + ". " + missing;
}

std::unique_ptr<Variant> make_variant(const std::string& name, int devices, int block) {
  if (name == "semcache") return std::make_unique<WithCache>(devices);
  if (name == "copy-every-call") return std::make_unique<CopyingEveryCall>(devices);
  if (name == "hand-tuned") return make_hand_tuned(devices);
  if (name == "unified") return make_unified(devices);
  if (name == "vendor") return make_vendor(devices);
  if (name == "cublasxt") return make_cublasxt(devices, block);
  throw std::invalid_argument("there is no variant '" + name + "'");
}

}  // namespace linalg_miniapps
