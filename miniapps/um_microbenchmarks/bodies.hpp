// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "benchmarks.hpp"

#include <Kokkos_Core.hpp>

#include <vector>

/// The benchmarks, written once for every memory model.
///
/// A model M has
///   M::Exec, M::View (of double*, on the device), M::ConstView (the same of const double*);
///   M::Array(label, n): one array with .device() and .host(), both usable at any time;
///   start(), stop(): counting between them; fence().
namespace microbenchmarks {

inline constexpr std::size_t block_elements = 512;

template <class View>
struct Count {  // a(i) = first + i
  View a;
  double first;
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const { a(i) = first + static_cast<double>(i); }
};

template <class View>
struct Double {
  View a;
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const { a(i) *= 2; }
};

template <class View, class ConstView>
struct Successor {  // reads y, captured as const
  ConstView y;
  View out;
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const { out(i) = y(i) + 1; }
};

template <class View>
struct PerhapsWrite {  // reads y, captured as writable
  View y, out;
  bool condition;
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    out(i) = y(i) + 1;
    if (condition) y(i) = -1;
  }
};

template <class View, class ConstView>
struct BlockSums {  // out(b) = sum of block b of a, captured as const
  ConstView a;
  View out;
  std::size_t n;
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t b) const {
    double sum = 0;
    for (std::size_t i = b * block_elements; i < n && i < (b + 1) * block_elements; ++i) sum += a(i);
    out(b) = sum;
  }
};

template <class M>
class Bodies {
  using View = typename M::View;
  using ConstView = typename M::ConstView;
  using Array = typename M::Array;

 public:
  Bodies(M& model, std::size_t n) : model_(model), n_(n) {}

  [[nodiscard]] bool run(Name name) {
    switch (name) {
      case Name::automem: return automem();
      case Name::nokernel: return nokernel();
      case Name::readonly_const: return readonly_const();
      case Name::readonly_writable: return readonly_writable();
      case Name::multivars: return multivars();
      case Name::privmem: return privmem();
      case Name::sparse_read_random: return sparse_read(true);
      case Name::sparse_read_stride: return sparse_read(false);
      case Name::sparse_write_random: return sparse_write(true);
      case Name::sparse_write_stride: return sparse_write(false);
      case Name::six_reads: return six_reads();
      case Name::mirror_loop: return mirror_loop();
    }
    return false;
  }

 private:
  template <class Functor>
  void launch(const char* name, const Functor& functor) {
    launch(name, n_, functor);
  }
  template <class Functor>
  void launch(const char* name, std::size_t n, const Functor& functor) {
    Kokkos::parallel_for(name, Kokkos::RangePolicy<typename M::Exec, Kokkos::IndexType<std::size_t>>(0, n), functor);
  }
  template <class Host>
  static void count_up(const Host& host, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) host(i) = static_cast<double>(i);
  }
  /// Returns whether host(i) == factor * i + first for all i.
  template <class Host>
  static bool is(const Host& host, std::size_t n, double factor, double first = 0) {
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) right = right && host(i) == factor * static_cast<double>(i) + first;
    return right;
  }

  bool automem() {
    model_.start();
    Array y("automem y", n_);
    count_up(y.host(), n_);
    launch("automem", Double<View>{y.device()});
    model_.fence();
    const bool right = is(y.host(), n_, 2);
    model_.stop();
    return right;
  }

  bool nokernel() {
    model_.start();
    Array y("nokernel y", n_);
    count_up(y.host(), n_);
    const bool right = is(y.host(), n_, 1);
    model_.stop();
    return right;
  }

  bool readonly_const() {
    model_.start();
    Array y("readonly_const y", n_), out("readonly_const out", n_);
    count_up(y.host(), n_);
    for (int twice = 0; twice < 2; ++twice) {
      launch("readonly_const", Successor<View, ConstView>{ConstView(y.device()), out.device()});
      model_.fence();
    }
    const bool right = is(y.host(), n_, 1);
    model_.stop();
    return right && is(out.host(), n_, 1, 1);
  }

  bool readonly_writable() {
    model_.start();
    Array y("readonly_writable y", n_), out("readonly_writable out", n_);
    count_up(y.host(), n_);
    launch("readonly_writable", PerhapsWrite<View>{y.device(), out.device(), false});
    model_.fence();
    const bool right = is(y.host(), n_, 1);
    model_.stop();
    return right && is(out.host(), n_, 1, 1);
  }

  bool multivars() {
    const std::size_t many = n_ * unused_pages_factor;
    model_.start();
    Array y("multivars y", n_), z("multivars z", many);
    count_up(y.host(), n_);
    count_up(z.host(), many);
    launch("multivars", Double<View>{y.device()});
    model_.fence();
    const bool right = is(y.host(), n_, 2) && is(z.host(), many, 1);
    model_.stop();
    return right;
  }

  bool privmem() {
    model_.start();
    Array p("privmem p", n_);
    launch("privmem write", Count<View>{p.device(), 3});
    launch("privmem change", Double<View>{p.device()});
    model_.fence();
    model_.stop();
    return is(p.host(), n_, 2, 6);
  }

  bool sparse_read(bool random) {
    const auto indices = sparse_indices(n_, random);
    model_.start();
    Array a(random ? "sparse_read_random a" : "sparse_read_stride a", n_);
    launch("sparse_read", Count<View>{a.device(), 1});
    model_.fence();
    bool right = true;
    const auto host = a.host();
    for (const std::size_t i : indices) right = right && host(i) == 1 + static_cast<double>(i);
    model_.stop();
    return right;
  }

  bool sparse_write(bool random) {
    const auto indices = sparse_indices(n_, random);
    const std::size_t blocks = (n_ + block_elements - 1) / block_elements;
    Array sums("sparse_write sums", blocks);
    model_.start();
    Array a(random ? "sparse_write_random a" : "sparse_write_stride a", n_);
    launch("sparse_write", Count<View>{a.device(), 1});
    model_.fence();
    const auto host = a.host();
    for (const std::size_t i : indices) host(i) = -7;
    launch("sparse_write read", blocks, BlockSums<View, ConstView>{ConstView(a.device()), sums.device(), n_});
    model_.fence();
    model_.stop();
    // The sums are exact in any order, because they are whole numbers below 2^53.
    std::vector<double> expected(blocks);
    for (std::size_t i = 0; i < n_; ++i) expected[i / block_elements] += 1 + static_cast<double>(i);
    for (const std::size_t i : indices) expected[i / block_elements] += -7 - (1 + static_cast<double>(i));
    bool right = true;
    const auto seen = sums.host();
    for (std::size_t b = 0; b < blocks; ++b) right = right && seen(b) == expected[b];
    return right;
  }

  bool six_reads() {
    model_.start();
    Array a("six_reads a", n_);
    launch("six_reads", Count<View>{a.device(), 1});
    model_.fence();
    bool right = true;
    for (int sweep = 0; sweep < host_sweeps; ++sweep) right = is(a.host(), n_, 1, 1) && right;
    model_.stop();
    return right;
  }

  bool mirror_loop() {
    model_.start();
    bool right = true;
    {
      const View d("mirror_loop d", n_);
      const auto h = Kokkos::create_mirror_view(d);
      for (int round = 0; round < mirror_rounds; ++round) {
        launch("mirror_loop", Count<View>{d, static_cast<double>(round)});
        Kokkos::deep_copy(h, d);
        right = right && h(0) == round;
        Kokkos::deep_copy(d, h);
      }
      model_.fence();
      model_.stop();
      right = right && is(h, n_, 1, mirror_rounds - 1);
    }
    return right;
  }

  M& model_;
  std::size_t n_;
};

}  // namespace microbenchmarks
