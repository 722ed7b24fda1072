// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/mpi.hpp>
#include <semcache/runtime/runtime.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

/// A program under MPI on the core's arrays: kernels are functions called inside a launch.
namespace mpi_test {

inline int rank_of(MPI_Comm comm = MPI_COMM_WORLD) {
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
inline int size_of(MPI_Comm comm = MPI_COMM_WORLD) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}
/// The neighbours in a ring.
inline int left() { return (rank_of() + size_of() - 1) % size_of(); }
inline int right() { return (rank_of() + 1) % size_of(); }

/// An array in the device's or the host's memory.
template <class T>
class Array {
 public:
  static Array on_device(const char* label, std::size_t n) {
    return Array(semcache::runtime::allocate_device(label, n * sizeof(T)), n);
  }
  static Array on_host(const char* label, std::size_t n, const Array* device_side = nullptr) {
    return Array(
        semcache::runtime::allocate_host(label, n * sizeof(T), device_side != nullptr ? device_side->data() : nullptr),
        n);
  }
  ~Array() { semcache::runtime::deallocate(data_); }
  Array(Array&& other) noexcept : data_(std::exchange(other.data_, nullptr)), n_(other.n_) {}
  Array& operator=(Array&&) = delete;

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return n_; }
  [[nodiscard]] std::size_t bytes() const { return n_ * sizeof(T); }
  T& operator[](std::size_t i) const { return data_[i]; }  ///< host arrays: noticed by their pages

 private:
  Array(void* data, std::size_t n) : data_(static_cast<T*>(data)), n_(n) {}
  T* data_;
  std::size_t n_;
};

/// A kernel that captures one array.
template <class T, class Body>
void kernel(const Array<T>& array, bool writable, Body&& body) {
  const semcache::runtime::Capture capture{array.data(), nullptr, 0, writable, false};
  const semcache::runtime::Launch launch(semcache::runtime::queue_of(nullptr), "kernel", &capture, 1);
  body(array.data());
}
/// Writes value(i) to the elements [begin, end).
template <class T, class Value>
void write_on_device(const Array<T>& array, std::size_t begin, std::size_t end, Value&& value) {
  kernel(array, true, [&](T* data) {
    for (std::size_t i = begin; i < end; ++i) data[i] = static_cast<T>(value(i));
  });
}
template <class T>
std::vector<T> device_content(const Array<T>& array) {
  std::vector<T> out;
  kernel(array, false, [&](const T* data) { out.assign(data, data + array.size()); });
  return out;
}
template <class T>
std::vector<T> host_content(const Array<T>& array) {
  return std::vector<T>(array.data(), array.data() + array.size());
}
/// value(0), value(1), ...
template <class T, class Value>
std::vector<T> expected(std::size_t n, Value&& value) {
  std::vector<T> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<T>(value(i));
  return out;
}

/// What moved since it was made; of one label, or of all.
class Since {
 public:
  explicit Since(std::string label = {}) : label_(std::move(label)), before_(now()) {}
  [[nodiscard]] std::uint64_t to_host() const { return now().d2h.bytes - before_.d2h.bytes; }
  [[nodiscard]] std::uint64_t to_device() const { return now().h2d.bytes - before_.h2d.bytes; }
  [[nodiscard]] std::uint64_t within_device() const { return now().d2d.bytes - before_.d2d.bytes; }
  [[nodiscard]] std::uint64_t within_host() const { return now().h2h.bytes - before_.h2h.bytes; }
  [[nodiscard]] std::uint64_t over_link() const { return to_host() + to_device(); }
  [[nodiscard]] std::uint64_t saved() const {
    const semcache::Counters c = now();
    return c.saved_device.bytes + c.saved_host.bytes + c.saved_link.bytes - before_.saved_device.bytes -
           before_.saved_host.bytes - before_.saved_link.bytes;
  }
  [[nodiscard]] std::uint64_t faults() const { return now().host_faults - before_.host_faults; }

 private:
  [[nodiscard]] semcache::Counters now() const {
    const semcache::Statistics s = semcache::statistics();
    if (label_.empty()) return s.total;
    for (const semcache::NamedCounters& named : s.labels) {
      if (named.name == label_) return named.counters;
    }
    return {};
  }
  std::string label_;
  semcache::Counters before_;
};

/// Errors of MPI_COMM_WORLD are returned.
struct ReturnErrors {
  ReturnErrors() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }
  ~ReturnErrors() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL); }
};
inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, static_cast<std::size_t>(length));
}

}  // namespace mpi_test
