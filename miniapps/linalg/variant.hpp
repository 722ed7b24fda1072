// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/linalg.hpp>
#include <semcache/semcache.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace linalg_miniapps {

using Csr = semcache::linalg::Csr<double>;

/// The clock of a program that iterates, and its residuals.
class Iterations {
 public:
  Iterations(int count, std::vector<double>& seconds, std::vector<double>& residuals) : count_(count), seconds_(seconds), residuals_(residuals) {}
  [[nodiscard]] int count() const noexcept { return count_; }
  /// Begins the first iteration, before anything of the problem has moved. `end` begins the next one.
  void begin();
  void end(double residual);

 private:
  int count_;
  double begin_ = 0;
  std::vector<double>& seconds_;
  std::vector<double>& residuals_;
};

/// D = AB + AC, or D = AB, again and again with other content in the same arrays.
class GemmSum {
 public:
  virtual ~GemmSum() = default;
  /// Reads A, B and C as they are now, and begins to compute D.
  virtual void start() = 0;
  /// Waits until the host may read element i of D. Returns the first element behind it that it may not read yet, or the number of elements.
  virtual std::size_t await(std::size_t i) = 0;
};

/// Where a variant has run, and what it has moved.
struct Facts {
  int devices = 0;
  std::string device_kind, device_name;
  std::optional<semcache::Counters> moved;  ///< empty where nobody counts
  std::vector<semcache::LinkStatistics> links = {};  ///< what each link carried; empty where SemCache is not used
};

/// A way to run the programs: where the arrays of the host lie, and how the algorithms run. Matrices are column-major.
class Variant {
 public:
  Variant() = default;
  virtual ~Variant() = default;
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;

  [[nodiscard]] virtual void* allocate_host(const char* label, std::size_t bytes) = 0;
  virtual void deallocate_host(void* data) noexcept = 0;

  /// Of n x n matrices in arrays of this variant. What it allocates is allocated here. @param c  nullptr: D = AB
  [[nodiscard]] virtual std::unique_ptr<GemmSum> gemm_sum(std::int64_t n, const double* a, const double* b, const double* c, double* d) = 0;
  /// Iterations x = x + r, r = b - A x, of an n x n matrix, with the norms of r. The host may read x afterwards.
  virtual void jacobi(std::int64_t n, const double* a, const double* b, double* x, Iterations& iterations) = 0;
  /// Conjugate gradients from x on, with the norms of the recurrence's residual, until these iterations are over or the residual is 0. The host may
  /// read x afterwards. Returns the square of the last residual's norm.
  virtual double cg(const Csr& a, const double* b, double* x, Iterations& iterations) = 0;

  /// The same, `count` iterations whose scalars stay on the devices, so that the host learns no residual before the end.
  /// @param seconds  gets the time of the first iteration, in which the problem comes to the devices, and for each other one the mean of the others
  /// @throws semcache::ConfigurationError  the variant has no such scalars
  virtual double cg_with_device_scalars(const Csr& a, const double* b, double* x, int count, std::vector<double>& seconds);

  [[nodiscard]] virtual Facts facts() = 0;
  /// Ends what the variant has begun. Its arrays have been freed.
  virtual void end() {}
};

/// An array of the host, where a variant wants it.
template <class T>
class HostArray {
 public:
  HostArray(Variant& variant, const char* label, std::size_t count)
      : variant_(variant), data_(static_cast<T*>(variant.allocate_host(label, std::max<std::size_t>(1, count) * sizeof(T)))), count_(count) {}
  ~HostArray() { variant_.deallocate_host(data_); }
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  Variant& variant_;
  T* data_;
  std::size_t count_;
};

/// What a program computes with. It decides which libraries of others stand beside ours.
enum class Kind : std::uint8_t { products, dense, sparse };
/// The variants' names, for a program of this kind.
[[nodiscard]] std::vector<std::string> variant_names(Kind kind);
/// What --help says of them, as far as this build has them.
[[nodiscard]] std::string describe_variants(Kind kind);
/// @param devices  0: as SEMCACHE_DEVICES says, or one
/// @param block    of `cublasxt`; 0: its default
/// @throws semcache::ConfigurationError  this build, this machine or these devices cannot run it; the text says what can be done
[[nodiscard]] std::unique_ptr<Variant> make_variant(const std::string& name, int devices, int block);

}  // namespace linalg_miniapps
