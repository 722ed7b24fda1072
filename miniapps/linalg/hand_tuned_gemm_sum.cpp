// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "hand_tuned.hpp"

#include <algorithm>

namespace linalg_miniapps {

namespace {

/// The next thing that crosses a link: a panel of A's columns, or a tile of B's or C's columns.
enum class StepKind { panel_of_a, tile_of_b, tile_of_c };
struct Step {
  StepKind kind;
  int index;
};

constexpr int tiles = 8;  // of B, C and D, for each device

/// The order in which A, B and C cross. With x of A's panels and y of the tiles, all products of these can be computed. Each step is the one that
/// gives the most work for its bytes, so that the GPU has its first work early, and what it lacks least later on.
std::vector<Step> order_of_steps(int panels, int products) {
  std::vector<Step> steps;
  int x = 0, y = 0;
  while (x < panels || y < products * tiles) {
    if (x < panels && (y == products * tiles || y * panels >= x * tiles)) {
      steps.push_back({StepKind::panel_of_a, x++});
    } else {
      steps.push_back({y % products == 0 ? StepKind::tile_of_b : StepKind::tile_of_c, y / products});
      ++y;
    }
  }
  return steps;
}

std::vector<Event> events(int device, int count) {
  std::vector<Event> all;
  for (int i = 0; i < count; ++i) all.emplace_back(device);
  return all;
}

/// What a device has. D's columns `at.front()` to `at.back()` are its own, with those of B and C.
struct Part {
  Part(int device, int devices, std::int64_t n, std::int64_t begin, std::int64_t end, bool has_c)
      : id(device),
        a(device, n * n),
        b(device, n * (end - begin)),
        c(device, has_c ? n * (end - begin) : 0),
        d(device, n * (end - begin)),
        ac(device, c.size()),
        in(device),
        compute(device),
        out(device),
        blas(device, compute),
        b_here(events(device, tiles)),
        c_here(events(device, tiles)),
        done(events(device, tiles)),
        back(events(device, tiles)) {
    for (const std::int64_t local : cut(end - begin, tiles, 16)) at.push_back(begin + local);
    for (int other = 0; other < devices; ++other) forward.emplace_back(device);
  }

  int id;
  std::vector<std::int64_t> at;  ///< where the tiles begin
  DeviceArray<double> a, b, c, d, ac;
  Stream in, compute, out;
  std::vector<Stream> forward;  ///< to each device
  Blas blas;
  std::vector<Event> a_here;  ///< by panel; of the device that the panel comes from
  std::vector<Event> b_here, c_here, done, back;
};

class HandTunedGemmSum : public GemmSum {
 public:
  HandTunedGemmSum(int devices, Copies& copies, std::int64_t n, const double* a, const double* b, const double* c, double* d)
      : copies_(copies), n_(n), a_(a), b_(b), c_(c), d_(d), devices_(devices), connected_(connect(devices)), panels_(std::max(8, devices)) {
    steps_ = order_of_steps(panels_, c == nullptr ? 1 : 2);
    panel_at_ = cut(n, panels_, 16);
    const std::vector<std::int64_t> columns = cut(n, devices, 16);
    for (int k = 0; k < devices; ++k) {
      parts_.emplace_back(k, devices, n, columns[static_cast<std::size_t>(k)], columns[static_cast<std::size_t>(k) + 1], c != nullptr);
      for (int panel = 0; panel < panels_; ++panel) parts_.back().a_here.emplace_back(source_of(panel, k));
    }
    // cuBLAS loads its kernels at their first use, and that is now.
    for (const Part& p : parts_) {
      LINALG_EXPECT(cudaSetDevice(p.id));
      for (const DeviceArray<double>* m : {&p.a, &p.b, &p.c}) {
        LINALG_EXPECT(cudaMemsetAsync(m->data(), 0, static_cast<std::size_t>(m->size()) * sizeof(double), p.compute));
      }
    }
    run(false);
    for (const Part& p : parts_) p.compute.wait();
  }

  void start() override { run(true); }

  std::size_t await(std::size_t i) override {
    const std::int64_t column = static_cast<std::int64_t>(i) / n_;
    const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return column < p.at.back(); });
    const auto behind = std::upper_bound(part->at.begin(), part->at.end(), column);
    part->back[static_cast<std::size_t>(behind - part->at.begin()) - 1].wait();
    return static_cast<std::size_t>(*behind * n_);
  }

 private:
  /// Each byte of A crosses a link of the host once, if devices can forward it: each device fetches its share of the panels.
  [[nodiscard]] int source_of(int panel, int device) const noexcept { return connected_ ? panel % devices_ : device; }

  /// Enqueues a round, or its computations alone.
  void run(bool with_copies) {
    int panels = 0, b_tiles = 0, c_tiles = 0, finished = 0;
    for (const Step& s : steps_) {
      const auto index = static_cast<std::size_t>(s.index);
      if (with_copies) fetch(s);
      for (Part& p : parts_) {
        LINALG_EXPECT(cudaSetDevice(p.id));
        if (s.kind == StepKind::panel_of_a) {
          if (with_copies) p.a_here[index].hold_back(p.compute);
          const std::int64_t from = panel_at_[index], to = panel_at_[index + 1];
          multiply(p, p.b, p.d, 0, b_tiles, from, to);
          multiply(p, p.c, p.ac, 0, c_tiles, from, to);  // of no tiles where there is no C
        } else {
          const bool is_b = s.kind == StepKind::tile_of_b;
          if (with_copies) (is_b ? p.b_here : p.c_here)[index].hold_back(p.compute);
          multiply(p, is_b ? p.b : p.c, is_b ? p.d : p.ac, s.index, s.index + 1, 0, panel_at_[static_cast<std::size_t>(panels)]);
        }
      }
      (s.kind == StepKind::panel_of_a ? panels : s.kind == StepKind::tile_of_b ? b_tiles : c_tiles) += 1;
      if (panels < panels_) continue;
      for (; finished < (c_ == nullptr ? b_tiles : c_tiles); ++finished) {  // a tile of B comes before that of C
        for (Part& p : parts_) finish(p, static_cast<std::size_t>(finished), with_copies);
      }
    }
  }

  void fetch(const Step& s) {
    const auto index = static_cast<std::size_t>(s.index);
    for (Part& p : parts_) {
      LINALG_EXPECT(cudaSetDevice(p.id));
      if (s.kind == StepKind::panel_of_a) {
        if (source_of(s.index, p.id) != p.id) continue;
        const std::int64_t first = panel_at_[index] * n_, count = (panel_at_[index + 1] - panel_at_[index]) * n_;
        copies_.to_device(p.a.data() + first, a_ + first, count, p.in);
        p.a_here[index].record(p.in);
        for (Part& other : parts_) {
          if (other.id == p.id || source_of(s.index, other.id) != p.id) continue;
          const Stream& link = p.forward[static_cast<std::size_t>(other.id)];
          p.a_here[index].hold_back(link);
          copies_.between(other.a.data() + first, other.id, p.a.data() + first, p.id, count, link);
          other.a_here[index].record(link);
        }
      } else {
        const bool is_b = s.kind == StepKind::tile_of_b;
        const std::int64_t first = p.at[index] * n_, count = (p.at[index + 1] - p.at[index]) * n_;
        copies_.to_device((is_b ? p.b : p.c).data() + first - p.at.front() * n_, (is_b ? b_ : c_) + first, count, p.in);
        (is_b ? p.b_here : p.c_here)[index].record(p.in);
      }
    }
  }

  /// Adds A's columns `from` to `to` times these rows of some tiles to the tiles of the result, which begin with column 0 of A.
  void multiply(const Part& p, const DeviceArray<double>& right, const DeviceArray<double>& result, int first_tile, int end_tile, std::int64_t from,
                std::int64_t to) const {
    const std::int64_t begin = p.at[static_cast<std::size_t>(first_tile)] - p.at.front();
    const std::int64_t end = p.at[static_cast<std::size_t>(end_tile)] - p.at.front();
    if (begin == end || from == to) return;
    const double one = 1.0, beta = from == 0 ? 0.0 : 1.0;
    const int n = static_cast<int>(n_);
    LINALG_EXPECT(cublasDgemm(p.blas, CUBLAS_OP_N, CUBLAS_OP_N, n, static_cast<int>(end - begin), static_cast<int>(to - from), &one,
                              p.a.data() + from * n_, n, right.data() + begin * n_ + from, n, &beta, result.data() + begin * n_, n));
  }

  /// D = AB + AC of a tile, or D = AB, which then goes back.
  void finish(const Part& p, std::size_t tile, bool with_copies) {
    const std::int64_t begin = p.at[tile] - p.at.front(), columns = p.at[tile + 1] - p.at[tile];
    LINALG_EXPECT(cudaSetDevice(p.id));
    if (columns > 0 && c_ != nullptr) {
      const double one = 1.0;
      const int n = static_cast<int>(n_);
      double* const d = p.d.data() + begin * n_;
      LINALG_EXPECT(cublasDgeam(p.blas, CUBLAS_OP_N, CUBLAS_OP_N, n, static_cast<int>(columns), &one, d, n, &one, p.ac.data() + begin * n_, n, d, n));
    }
    if (!with_copies) return;
    p.done[tile].record(p.compute);
    p.done[tile].hold_back(p.out);
    copies_.to_host(d_ + p.at[tile] * n_, p.d.data() + begin * n_, columns * n_, p.out);
    p.back[tile].record(p.out);
  }

  Copies& copies_;
  std::int64_t n_;
  const double *a_, *b_, *c_;
  double* d_;
  int devices_;
  bool connected_;
  int panels_;
  std::vector<Step> steps_;
  std::vector<std::int64_t> panel_at_;
  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<GemmSum> hand_tuned_gemm_sum(int devices, Copies& copies, std::int64_t n, const double* a, const double* b, const double* c,
                                             double* d) {
  return std::make_unique<HandTunedGemmSum>(devices, copies, n, a, b, c, d);
}

}  // namespace linalg_miniapps
