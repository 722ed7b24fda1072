// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "call.hpp"

#include <semcache/linalg/vectors.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>

namespace semcache::linalg {

namespace {

void expect_count(const char* routine, std::int64_t n) {
  SEMCACHE_EXPECTS(n >= 0, std::string("linalg::") + routine + ": n is " + std::to_string(n) + "; it must not be negative");
}

/// Calls `body(first, count)` for pieces of `count` elements whose sizes fit 32 bits.
template <class Body>
void in_pieces(std::uint64_t count, const Body& body) {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  for (std::uint64_t done = 0; done < count; done += most) body(done, static_cast<std::int32_t>(std::min(most, count - done)));
}

/// Host memory for the sums of blocks, in which each device has a tile. Arrays are kept for later calls.
class Sums {
 public:
  explicit Sums(std::size_t bytes) {
    (void)runtime::device_ordinal(0);  // starts the runtime
    runtime::before_end(&free_all);
    epoch_ = runtime::epoch();
    Kept& k = kept();
    const std::lock_guard<std::mutex> lock(k.mutex);
    if (k.epoch != epoch_) k.arrays.clear();  // they ended with their runtime
    k.epoch = epoch_;
    const auto found = std::find_if(k.arrays.begin(), k.arrays.end(), [&](const Array& a) { return a.bytes == bytes; });
    if (found != k.arrays.end()) {
      array_ = *found;
      k.arrays.erase(found);
    } else {
      array_ = {runtime::allocate_host("sums of blocks (linalg)", bytes, nullptr, true), bytes};
    }
  }
  ~Sums() {
    Kept& k = kept();
    const std::lock_guard<std::mutex> lock(k.mutex);
    if (k.epoch != epoch_ || runtime::epoch() != epoch_) return;
    k.arrays.push_back(array_);
    if (k.arrays.size() <= most_kept) return;
    runtime::deallocate(k.arrays.front().data);
    k.arrays.erase(k.arrays.begin());
  }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;
  [[nodiscard]] void* data() const noexcept { return array_.data; }

 private:
  struct Array {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  struct Kept {
    std::mutex mutex;
    std::uint64_t epoch = 0;
    std::vector<Array> arrays;
  };
  static constexpr std::size_t most_kept = 16;
  static Kept& kept() {
    static Kept* const k = new Kept;  // the runtime may end after the program's statics
    return *k;
  }
  static void free_all() noexcept {
    Kept& k = kept();
    const std::lock_guard<std::mutex> lock(k.mutex);
    for (const Array& a : k.arrays) {
      if (k.epoch == runtime::epoch()) runtime::deallocate(a.data);
    }
    k.arrays.clear();
  }
  Array array_;
  std::uint64_t epoch_;
};

/// Sums of vectors so large are cut into such pieces, each of which begins as soon as what it uses is there, and of which the host gets the first
/// while others are computed.
constexpr std::uint64_t piece_bytes = std::uint64_t{256} << 20;

/// Cuts a sum of vectors into tasks. Several on one device come before the kernels of other calls that have not begun, because the host may wait.
std::vector<Task> cut_sum(const std::vector<policy::Held>& pieces, const std::vector<Access>& operands) {
  std::vector<Task> tasks = policy::cut(pieces, operands);
  std::set<std::uint32_t> devices;
  for (const Task& t : tasks) devices.insert(t.device);
  if (tasks.size() > devices.size()) {
    for (Task& t : tasks) t.lane = tasks::short_lane;
  }
  return tasks;
}

/// Cuts runs into pieces of which a task's operands fit, each a multiple of `grain`, but for the last one. Where fewer elements than that fit a
/// third of the memory, each piece has as many, and the call fails where the whole memory has no room for them.
std::vector<policy::Held> to_fit(const std::vector<policy::Held>& runs, std::size_t bytes_of_element, std::uint64_t grain,
                                 std::uint64_t most_elements = UINT64_MAX) {
  const std::uint64_t most = std::max(grain, std::min<std::uint64_t>(task_bytes() / bytes_of_element, most_elements));
  std::vector<policy::Held> pieces;
  for (const policy::Held& h : runs) {
    for (const policy::Run& r : policy::cut_to_fit(h.run, most, grain)) pieces.push_back({r, h.device});
  }
  return pieces;
}

/// Are all cuts between blocks?
bool between_blocks(const std::vector<policy::Held>& runs, std::uint64_t block) {
  return std::all_of(runs.begin(), runs.end(), [&](const policy::Held& h) { return h.run.begin % block == 0; });
}

}  // namespace

template <class T>
void axpby(std::int64_t n, T alpha, const T* x, T beta, T* y) {
  expect_count("axpby", n);
  if (n == 0) return;
  const std::vector<Matrix> operands{vector_of(x, n), vector_of(y, n)};
  const double seconds = 3.0 * sizeof(T) * static_cast<double>(n) / bytes_per_second;
  const VectorCut along = cut_vector(operands[beta == T(0) ? 0 : 1], true, seconds);
  const Access of_y = beta == T(0) ? Access::overwrite : Access::read_write;
  const std::vector<Task> cut = cut_sum(to_fit(along.runs, 2 * sizeof(T), 1, piece_bytes / sizeof(T)), {Access::read, of_y});
  note_call("axpby", scalar_of<T>, [&] { return std::to_string(n) + " elements"; }, cut, along.why);
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    in_pieces(rows_of(task.parts[1].where), [&](std::uint64_t first, std::int32_t some) {
      const T* const from = static_cast<const T*>(at[0].data) + first;
      T* const to = static_cast<T*>(at[1].data) + first;
      if (beta == T(0)) {
        compute.copy(stream, scalar_of<T>, some, from, to);
        if (alpha != T(1)) compute.scal(stream, scalar_of<T>, some, &alpha, to);
      } else {
        if (beta != T(1)) compute.scal(stream, scalar_of<T>, some, &beta, to);
        compute.axpy(stream, scalar_of<T>, some, &alpha, from, to);
      }
    });
  });
}

template <class T>
void scal(std::int64_t n, T alpha, T* x) {
  expect_count("scal", n);
  if (n == 0) return;
  const std::vector<Matrix> operands{vector_of(x, n)};
  const double seconds = 2.0 * sizeof(T) * static_cast<double>(n) / bytes_per_second;
  const VectorCut along = cut_vector(operands[0], true, seconds);
  const std::vector<Task> cut = cut_sum(to_fit(along.runs, sizeof(T), 1, piece_bytes / sizeof(T)), {Access::read_write});
  note_call("scal", scalar_of<T>, [&] { return std::to_string(n) + " elements"; }, cut, along.why);
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    in_pieces(rows_of(task.parts[0].where), [&](std::uint64_t first, std::int32_t some) {
      compute.scal(stream, scalar_of<T>, some, &alpha, static_cast<T*>(at[0].data) + first);
    });
  });
}

template <class T>
T dot(std::int64_t n, const T* x, const T* y) {
  expect_count("dot", n);
  if (n == 0) return T(0);
  const auto count = static_cast<std::uint64_t>(n);
  const std::uint64_t block = policy::block_elements(count), blocks = (count + block - 1) / block;
  const Sums sums(blocks * sizeof(T));
  const std::vector<Matrix> operands{vector_of(x, n), vector_of(y, n), {sums.data(), blocks, 1, blocks, sizeof(T)}};
  const double seconds = 2.0 * sizeof(T) * static_cast<double>(n) / bytes_per_second;
  VectorCut along = cut_vector(operands[0], true, seconds);
  if (!between_blocks(along.runs, block)) along = cut_vector(operands[0], false, seconds);
  std::vector<Task> cut;
  for (const policy::Held& h : to_fit(along.runs, 2 * sizeof(T), block)) {
    const Rectangle elements{h.run.begin, h.run.end, 0, 1};
    cut.push_back({h.device, 0, {{0, elements, Access::read}, {1, elements, Access::read},
                                 {2, {h.run.begin / block, (h.run.end + block - 1) / block, 0, 1}, Access::overwrite}}});
  }
  note_call("dot", scalar_of<T>, [&] { return std::to_string(n) + " elements"; }, cut, along.why);
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    compute.block_dots(stream, scalar_of<T>, rows_of(task.parts[0].where), block, at[0].data, at[1].data, at[2].data);
  });
  access(sums.data(), blocks * sizeof(T), Access::read);
  T sum(0);
  for (std::uint64_t b = 0; b < blocks; ++b) sum += static_cast<const T*>(sums.data())[b];
  return sum;
}

template <class T>
RealOf<T> nrm2(std::int64_t n, const T* x) {
  return std::sqrt(std::real(dot(n, x, x)));
}

#define SEMCACHE_LINALG_INSTANTIATE(T)                                \
  template SEMCACHE_API void axpby(std::int64_t, T, const T*, T, T*); \
  template SEMCACHE_API void scal(std::int64_t, T, T*);               \
  template SEMCACHE_API T dot(std::int64_t, const T*, const T*);      \
  template SEMCACHE_API RealOf<T> nrm2(std::int64_t, const T*);
SEMCACHE_LINALG_INSTANTIATE(float)
SEMCACHE_LINALG_INSTANTIATE(double)
SEMCACHE_LINALG_INSTANTIATE(std::complex<float>)
SEMCACHE_LINALG_INSTANTIATE(std::complex<double>)

}  // namespace semcache::linalg
