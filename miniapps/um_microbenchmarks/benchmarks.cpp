// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "benchmarks.hpp"

#include <algorithm>
#include <random>
#include <set>

namespace microbenchmarks {

const std::vector<Benchmark>& all_benchmarks() {
  constexpr std::uint64_t page = page_bytes, mib = 1 << 20, gib = 1 << 30;
  static const std::vector<Benchmark> benchmarks = {
      {Name::automem, "automem", "host writes y, kernel doubles it, host reads it", page},
      {Name::nokernel, "nokernel", "host writes y, no kernel", page},
      {Name::readonly_const, "readonly_const", "host writes y, two kernels read it as const, host reads it", page},
      {Name::readonly_writable, "readonly_writable", "the same, captured as writable, written if a false condition holds", page},
      {Name::multivars, "multivars", "host writes y and z (160 times as large), kernel uses y, host reads both", page},
      {Name::privmem, "privmem", "two kernels share an array that the host never touches", page},
      {Name::sparse_read_random, "sparse_read_random", "kernel writes, host reads 1,024 elements at random", gib},
      {Name::sparse_read_stride, "sparse_read_stride", "kernel writes, host reads 1,024 elements at equal distances", gib},
      {Name::sparse_write_random, "sparse_write_random", "kernel writes, host writes 1,024 elements at random, kernel reads all", gib},
      {Name::sparse_write_stride, "sparse_write_stride", "the same at equal distances", gib},
      {Name::six_reads, "six_reads", "kernel writes, host reads everything six times", 64 * mib},
      {Name::mirror_loop, "mirror_loop", "100 times: kernel writes d, deep_copy(h, d), host reads 8 bytes, deep_copy(d, h)", 64 * mib},
  };
  return benchmarks;
}

std::vector<std::size_t> sparse_indices(std::size_t elements, bool random) {
  const std::size_t page = page_bytes / sizeof(double);
  const std::size_t pages = std::max<std::size_t>(1, elements / page);
  const std::size_t wanted = std::min(sparse_elements, pages);
  std::vector<std::size_t> indices;
  if (!random) {
    for (std::size_t i = 0; i < wanted; ++i) indices.push_back(elements / wanted * i);
    return indices;
  }
  std::mt19937_64 generator(20140708);  // a fixed seed, so that the counts are the same in every run
  std::set<std::size_t> used;
  while (indices.size() < wanted) {
    const std::size_t index = generator() % elements;
    if (used.insert(std::min(index / page, pages - 1)).second) indices.push_back(index);
  }
  return indices;
}

std::vector<Check> expectations(Name name, std::uint64_t bytes, const Counts& c, bool write_checks, bool report_names) {
  const std::uint64_t touched = sparse_indices(bytes / sizeof(double), false).size();
  // What a scattered access may fetch at most. It must not bring the whole array.
  constexpr std::uint64_t sparse_bytes = 20 * 1024, sparse_faults = 2, chunk = 16 * 1024;
  // A sweep fetches larger and larger chunks, so it needs far fewer faults than one for each doubling.
  std::uint64_t sweep_faults = 2;
  for (std::uint64_t reach = chunk; reach < bytes; reach *= 2) ++sweep_faults;

  std::vector<Check> checks;
  const auto exactly = [&](const char* figure, std::uint64_t actual, std::uint64_t value) {
    checks.push_back({figure, actual, value, value});
  };
  const auto between = [&](const char* figure, std::uint64_t actual, std::uint64_t least, std::uint64_t most) {
    checks.push_back({figure, actual, least, most});
  };
  const auto moves = [&](std::uint64_t h2d, std::uint64_t d2h) {
    exactly("h2d bytes", c.h2d_bytes, h2d);
    exactly("d2h bytes", c.d2h_bytes, d2h);
  };

  switch (name) {
    case Name::automem:
      moves(bytes, bytes);
      between("host faults", c.host_faults, 1, 2 * sweep_faults);
      break;
    case Name::nokernel:
      moves(0, 0);
      between("host faults", c.host_faults, 0, sweep_faults);
      break;
    case Name::readonly_const:
      moves(bytes, 0);
      between("host faults", c.host_faults, 0, sweep_faults);
      break;
    case Name::readonly_writable:
      moves(bytes, write_checks ? 0 : bytes);
      exactly("named in the report's advice", report_names ? 1 : 0, 1);
      break;
    case Name::multivars:
      moves(bytes, bytes);
      break;
    case Name::privmem:
      moves(0, 0);
      exactly("host faults", c.host_faults, 0);
      break;
    case Name::sparse_read_random:
    case Name::sparse_read_stride:
      exactly("h2d bytes", c.h2d_bytes, 0);
      between("d2h bytes", c.d2h_bytes, touched * sizeof(double), std::min(bytes, touched * sparse_bytes));
      between("host faults", c.host_faults, 1, touched * sparse_faults);
      break;
    case Name::sparse_write_random:
    case Name::sparse_write_stride:
      between("h2d bytes", c.h2d_bytes, touched * sizeof(double), std::min(bytes, touched * sparse_bytes));
      between("d2h bytes", c.d2h_bytes, 0, std::min(bytes, touched * sparse_bytes));
      between("host faults", c.host_faults, 1, touched * sparse_faults);
      break;
    case Name::six_reads:
      moves(0, bytes);
      between("host faults", c.host_faults, 1, sweep_faults);
      break;
    case Name::mirror_loop:
      between("h2d bytes", c.h2d_bytes, 0, mirror_rounds * std::min(bytes, chunk));
      between("d2h bytes", c.d2h_bytes, mirror_rounds * sizeof(double), mirror_rounds * std::min(bytes, chunk));
      if (bytes < page_bytes) {
        exactly("host faults", c.host_faults, 0);  // arrays of less than a page are copied at the call
      } else {
        between("host faults", c.host_faults, 1, 2 * mirror_rounds);
      }
      break;
  }
  exactly("unknown launches", c.unknown_launches, 0);
  return checks;
}

}  // namespace microbenchmarks
