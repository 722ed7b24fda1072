// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "block_sums.hpp"
#include "hand_tuned.hpp"

#include <algorithm>
#include <cmath>

namespace linalg_miniapps {

namespace {

/// The rows of a device, and what they refer to.
struct Share {
  std::int64_t begin, end;        ///< rows
  std::int64_t first, last;       ///< columns that occur, and the rows themselves
  std::int64_t inner, inner_end;  ///< rows that refer to the device's own ones only
};

Share share_of(const Csr& a, std::int64_t begin, std::int64_t end) {
  Share s{begin, end, begin, end, begin, end};
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int32_t e = a.row_pointers[row]; e < a.row_pointers[row + 1]; ++e) {
      const std::int64_t column = a.column_indices[e];
      s.first = std::min(s.first, column);
      s.last = std::max(s.last, column + 1);
      if (column < begin) s.inner = row + 1;
      if (column >= end) s.inner_end = std::min(s.inner_end, row);
    }
  }
  if (s.inner > s.inner_end) s.inner = s.inner_end = end;
  return s;
}

/// What a device has. `p` also has room for the others' elements that its rows refer to.
struct Part {
  Part(int device, const Csr& a, const Share& s, std::int64_t block)
      : id(device),
        share(s),
        rows(s.end - s.begin),
        first_entry(a.row_pointers[s.begin]),
        entries(a.row_pointers[s.end] - first_entry),
        row_pointers(device, rows + 1),
        columns(device, entries),
        values(device, entries),
        x(device, rows),
        r(device, rows),
        q(device, rows),
        p(device, s.last - s.first),
        sums(device, rows, block),
        compute(device),
        exchange(device),
        p_ready(device),
        p_sent(device) {}

  [[nodiscard]] double* own_p() const noexcept { return p.data() + (share.begin - share.first); }

  int id;
  Share share;
  std::int64_t rows, first_entry, entries;
  DeviceArray<std::int32_t> row_pointers, columns;
  DeviceArray<double> values, x, r, q, p;
  BlockSums sums;
  Stream compute, exchange;
  Event p_ready, p_sent;
};

/// q = A p, of these rows
void multiply(const Part& part, std::int64_t from, std::int64_t to) {
  const std::int64_t first = from - part.share.begin, rows = to - from;
  // The mean length of all rows decides how the kernel is launched.
  const DeviceRows a{rows, part.entries * rows / part.rows, part.row_pointers.data() + first, part.columns.data() - part.first_entry,
                     part.values.data() - part.first_entry};
  launch_spmv(part.compute, a, part.p.data() - part.share.first, part.q.data() + first);
}
/// to = alpha from + beta to
void add(const Part& part, double alpha, const double* from, double beta, double* to) {
  launch_axpby(part.compute, part.rows, alpha, from, beta, to);
}

/// The elements of one device's that another one's rows refer to.
struct Halo {
  std::int64_t first, count;
};
Halo halo(const Part& from, const Part& to) {
  const std::int64_t first = std::max(from.share.begin, to.share.first), last = std::min(from.share.end, to.share.last);
  return {first, std::max<std::int64_t>(0, last - first)};
}

double sum_of_parts(const std::vector<Part>& parts) {
  static std::vector<double> all;  // keeps its memory
  all.clear();
  for (const Part& part : parts) {
    part.compute.wait();
    part.sums.append_to(all);
  }
  return sum_of(all);
}

}  // namespace

double hand_tuned_cg(int devices, Copies& copies, const Csr& a, const double* b, double* x, Iterations& iterations) {
  (void)connect(devices);
  const std::int64_t block = elements_of_sum(a.rows);
  const std::vector<std::int64_t> cuts = cut(a.rows, devices, block);
  std::vector<Part> parts;
  for (int k = 0; k < devices; ++k) {
    const std::int64_t begin = cuts[static_cast<std::size_t>(k)], end = cuts[static_cast<std::size_t>(k) + 1];
    if (begin < end) parts.emplace_back(k, a, share_of(a, begin, end), block);
  }

  iterations.begin();
  // r = b - A x, p = r. The room of p has x first.
  for (const Part& part : parts) {
    LINALG_EXPECT(cudaSetDevice(part.id));
    copies.to_device(part.row_pointers.data(), a.row_pointers + part.share.begin, part.rows + 1, part.compute);
    copies.to_device(part.columns.data(), a.column_indices + part.first_entry, part.entries, part.compute);
    copies.to_device(part.values.data(), a.values + part.first_entry, part.entries, part.compute);
    copies.to_device(part.p.data(), x + part.share.first, part.share.last - part.share.first, part.compute);
    copies.to_device(part.r.data(), b + part.share.begin, part.rows, part.compute);
    multiply(part, part.share.begin, part.share.end);
    add(part, 1.0, part.own_p(), 0.0, part.x.data());
    add(part, -1.0, part.q.data(), 1.0, part.r.data());
    add(part, 1.0, part.r.data(), 0.0, part.own_p());
    part.sums.start(part.r.data(), part.r.data(), part.compute, copies);
  }
  double rr = sum_of_parts(parts);

  for (int k = 0; k < iterations.count() && rr > 0; ++k) {
    // Nobody reads the others' elements of p any more: the host has waited for those who did.
    for (const Part& part : parts) {
      if (parts.size() == 1) break;
      LINALG_EXPECT(cudaSetDevice(part.id));
      part.p_ready.record(part.compute);
      part.p_ready.hold_back(part.exchange);
      for (const Part& other : parts) {
        if (other.id == part.id) continue;
        const Halo h = halo(part, other);
        copies.between(other.p.data() + (h.first - other.share.first), other.id, part.p.data() + (h.first - part.share.first), part.id, h.count,
                       part.exchange);
      }
      part.p_sent.record(part.exchange);
    }
    for (const Part& part : parts) {
      LINALG_EXPECT(cudaSetDevice(part.id));
      multiply(part, part.share.inner, part.share.inner_end);
      for (const Part& other : parts) {
        if (other.id != part.id && halo(other, part).count > 0) other.p_sent.hold_back(part.compute);
      }
      multiply(part, part.share.begin, part.share.inner);
      multiply(part, part.share.inner_end, part.share.end);
      part.sums.start(part.own_p(), part.q.data(), part.compute, copies);
    }
    const double alpha = rr / sum_of_parts(parts);
    for (const Part& part : parts) {
      LINALG_EXPECT(cudaSetDevice(part.id));
      add(part, alpha, part.own_p(), 1.0, part.x.data());
      add(part, -alpha, part.q.data(), 1.0, part.r.data());
      part.sums.start(part.r.data(), part.r.data(), part.compute, copies);
    }
    const double next = sum_of_parts(parts), beta = next / rr;
    for (const Part& part : parts) {
      LINALG_EXPECT(cudaSetDevice(part.id));
      add(part, 1.0, part.r.data(), beta, part.own_p());
    }
    rr = next;
    iterations.end(std::sqrt(rr));
  }

  for (const Part& part : parts) {
    LINALG_EXPECT(cudaSetDevice(part.id));
    copies.to_host(x + part.share.begin, part.x.data(), part.rows, part.compute);
  }
  for (const Part& part : parts) {
    part.compute.wait();
    part.exchange.wait();
  }
  return rr;
}

}  // namespace linalg_miniapps
