// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "block_sums.hpp"
#include "hand_tuned.hpp"

#include <cmath>

namespace linalg_miniapps {

namespace {

constexpr int tiles = 16;  // of the matrix, in which it crosses the link

/// What a device has: rows of the matrix, of b and of r, and two vectors x. An iteration reads one of these and makes the other.
struct Part {
  Part(int device, std::int64_t n, std::int64_t begin_row, std::int64_t end_row, std::int64_t block)
      : id(device),
        begin(begin_row),
        rows(end_row - begin_row),
        a(device, rows * n),
        b(device, rows),
        r(device, rows),
        in(device),
        compute(device),
        exchange(device),
        blas(device, compute),
        vectors_here(device),
        x_sent(device) {
    for (DeviceArray<double>& one : x) one = DeviceArray<double>(device, n);
    for (int i = 0; i < 2; ++i) {
      sums.emplace_back(device, rows, block);
      summed.emplace_back(device);
      x_ready.emplace_back(device);
    }
    for (int t = 0; t < tiles; ++t) tile_here.emplace_back(device);
  }

  int id;
  std::int64_t begin, rows;
  DeviceArray<double> a, b, r;
  DeviceArray<double> x[2];
  std::vector<BlockSums> sums;  ///< as x, those of two iterations
  Stream in, compute, exchange;
  Blas blas;
  Event vectors_here, x_sent;
  std::vector<Event> summed, x_ready;  ///< of two iterations
  std::vector<Event> tile_here;
};

/// r = r - A x, of columns `from` to `to`
void subtract_product(const Part& p, const double* x, std::int64_t from, std::int64_t to) {
  if (from == to) return;
  const double minus_one = -1.0, one = 1.0;
  const int rows = static_cast<int>(p.rows);
  LINALG_EXPECT(cublasDgemv(p.blas, CUBLAS_OP_N, rows, static_cast<int>(to - from), &minus_one, p.a.data() + from * p.rows, rows, x + from, 1, &one,
                            p.r.data(), 1));
}
void copy(const Part& p, const double* from, double* to) { LINALG_EXPECT(cublasDcopy(p.blas, static_cast<int>(p.rows), from, 1, to, 1)); }
/// to = from + r
void add_residual(const Part& p, const double* from, double* to) {
  const double one = 1.0;
  copy(p, from, to);
  LINALG_EXPECT(cublasDaxpy(p.blas, static_cast<int>(p.rows), &one, p.r.data(), 1, to, 1));
}

}  // namespace

void hand_tuned_jacobi(int devices, Copies& copies, std::int64_t n, const double* a, const double* b, double* x, Iterations& iterations) {
  (void)connect(devices);
  const std::int64_t block = elements_of_sum(n);
  const std::vector<std::int64_t> rows = cut(n, devices, block), tile_at = cut(n, tiles, 1);
  std::vector<Part> parts;
  for (int k = 0; k < devices; ++k) {
    const std::int64_t begin = rows[static_cast<std::size_t>(k)], end = rows[static_cast<std::size_t>(k) + 1];
    if (begin < end) parts.emplace_back(k, n, begin, end, block);
  }
  // cuBLAS and CUDA load their kernels at their first use, and that is now. The content does not matter: all of it is overwritten.
  for (const Part& p : parts) {
    LINALG_EXPECT(cudaSetDevice(p.id));
    LINALG_EXPECT(cudaMemsetAsync(p.a.data(), 0, static_cast<std::size_t>(p.a.size()) * sizeof(double), p.compute));
    for (std::size_t t = 0; t < tiles; ++t) subtract_product(p, p.x[0].data(), tile_at[t], tile_at[t + 1]);
    subtract_product(p, p.x[0].data(), 0, n);
    add_residual(p, p.x[0].data() + p.begin, p.x[1].data() + p.begin);
    launch_block_dots(p.compute, 1, 1, p.r.data(), p.r.data(), p.b.data());
  }
  for (const Part& p : parts) p.compute.wait();

  std::vector<double> squares;
  std::size_t now = 0;  // which x is the iteration's
  iterations.begin();
  for (int k = 0; k <= iterations.count(); ++k, now = 1 - now) {
    for (const Part& p : parts) {
      if (k == iterations.count()) break;
      LINALG_EXPECT(cudaSetDevice(p.id));
      const double* const old_x = p.x[now].data();
      if (k == 0) {
        copies.to_device(p.b.data(), b + p.begin, p.rows, p.in);
        copies.to_device(p.x[0].data(), x, n, p.in);
        p.vectors_here.record(p.in);
        p.vectors_here.hold_back(p.compute);
        copy(p, p.b.data(), p.r.data());
        for (std::size_t t = 0; t < tiles; ++t) {
          copies.to_device(p.a.data() + tile_at[t] * p.rows, a + tile_at[t] * n + p.begin, n, p.rows, tile_at[t + 1] - tile_at[t], p.in);
          p.tile_here[t].record(p.in);
          p.tile_here[t].hold_back(p.compute);
          subtract_product(p, old_x, tile_at[t], tile_at[t + 1]);
        }
      } else {
        copy(p, p.b.data(), p.r.data());
        for (const Part& other : parts) {
          if (other.id != p.id) other.x_sent.hold_back(p.compute);
        }
        subtract_product(p, old_x, 0, n);
      }
      add_residual(p, old_x + p.begin, p.x[1 - now].data() + p.begin);
      p.x_ready[now].record(p.compute);
      p.sums[now].start(p.r.data(), p.r.data(), p.compute, copies);
      p.summed[now].record(p.compute);
    }
    // All devices have been told to wait for what was sent before, so the events can be recorded anew.
    for (const Part& p : parts) {
      if (parts.size() == 1 || k == iterations.count()) break;
      LINALG_EXPECT(cudaSetDevice(p.id));
      p.x_ready[now].hold_back(p.exchange);
      for (const Part& other : parts) {
        if (other.id == p.id) continue;
        if (k > 0) other.x_ready[1 - now].hold_back(p.exchange);  // the iteration before reads the x that is made now
        copies.between(other.x[1 - now].data() + p.begin, other.id, p.x[1 - now].data() + p.begin, p.id, p.rows, p.exchange);
      }
      p.x_sent.record(p.exchange);
    }
    // The host reads a norm while the devices are at the next iteration.
    if (k == 0) continue;
    squares.clear();
    for (const Part& p : parts) {
      p.summed[1 - now].wait();
      p.sums[1 - now].append_to(squares);
    }
    iterations.end(std::sqrt(sum_of(squares)));
  }
  now = 1 - now;  // the last turn has computed nothing

  for (const Part& p : parts) {
    LINALG_EXPECT(cudaSetDevice(p.id));
    copies.to_host(x + p.begin, p.x[now].data() + p.begin, p.rows, p.compute);
  }
  for (const Part& p : parts) {
    p.compute.wait();
    p.exchange.wait();
  }
}

}  // namespace linalg_miniapps
