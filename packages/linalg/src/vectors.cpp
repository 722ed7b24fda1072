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

/// Page-locked memory for the sums of blocks, which kernels write and the host reads behind them. It is kept for later calls.
class Sums {
 public:
  explicit Sums(std::size_t bytes) {
    (void)runtime::device_ordinal(0);  // starts the runtime
    runtime::before_end(&free_all);
    epoch_ = runtime::epoch();
    Kept& k = kept();
    const std::lock_guard<std::mutex> lock(k.mutex);
    if (k.epoch != epoch_) k.buffers.clear();  // they ended with their runtime
    k.epoch = epoch_;
    const auto found = std::find_if(k.buffers.begin(), k.buffers.end(), [&](const Buffer& b) { return b.bytes == bytes; });
    if (found != k.buffers.end()) {
      buffer_ = *found;
      k.buffers.erase(found);
    } else {
      buffer_ = {runtime::allocate_page_locked(bytes), bytes};
    }
  }
  ~Sums() {
    if (!awaited_) {  // an error: kernels may still write
      try {
        tasks::wait();
      } catch (const std::exception&) {
        return;  // nobody knows when they end, so the memory is given up
      }
    }
    Kept& k = kept();
    const std::lock_guard<std::mutex> lock(k.mutex);
    if (k.epoch != epoch_ || runtime::epoch() != epoch_) return;
    k.buffers.push_back(buffer_);
    if (k.buffers.size() <= most_kept) return;
    runtime::deallocate_page_locked(k.buffers.front().data);
    k.buffers.erase(k.buffers.begin());
  }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;
  [[nodiscard]] void* data() const noexcept { return buffer_.data; }
  /// Waits for the kernels that write the sums, on the first lane of these tasks' devices.
  void wait_for(const std::vector<Task>& tasks) {
    std::set<std::uint32_t> devices;
    for (const Task& t : tasks) devices.insert(t.device);
    for (const std::uint32_t d : devices) runtime::wait_for_queue(tasks::lane(d, 0).queue);
    awaited_ = true;
  }

 private:
  struct Buffer {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  struct Kept {
    std::mutex mutex;
    std::uint64_t epoch = 0;
    std::vector<Buffer> buffers;
  };
  static constexpr std::size_t most_kept = 16;
  static Kept& kept() {
    static Kept* const k = new Kept;  // the runtime may end after the program's statics
    return *k;
  }
  static void free_all() noexcept {
    Kept& k = kept();
    const std::lock_guard<std::mutex> lock(k.mutex);
    for (const Buffer& b : k.buffers) {
      if (k.epoch == runtime::epoch()) runtime::deallocate_page_locked(b.data);
    }
    k.buffers.clear();
  }
  Buffer buffer_;
  std::uint64_t epoch_;
  bool awaited_ = false;
};

/// Adds numbers in an order that only their count decides: eight sums of every eighth one, and then the sum of these.
template <class T>
T sum_of(const T* numbers, std::uint64_t count) {
  T sums[8] = {};
  std::uint64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::uint64_t k = 0; k < 8; ++k) sums[k] += numbers[i + k];
  }
  for (std::uint64_t k = 0; i + k < count; ++k) sums[k] += numbers[i + k];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/// Sums of vectors so large are cut into such pieces, each of which begins as soon as what it uses is there, and of which the host gets the first
/// while others are computed.
constexpr std::uint64_t piece_bytes = std::uint64_t{128} << 20;

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
    compute.axpby(stream, scalar_of<T>, rows_of(task.parts[1].where), &alpha, at[0].data, &beta, at[1].data);
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
    const T none(0);
    compute.axpby(stream, scalar_of<T>, rows_of(task.parts[0].where), &alpha, at[0].data, &none, at[0].data);
  });
}

template <class T>
T dot(std::int64_t n, const T* x, const T* y) {
  expect_count("dot", n);
  if (n == 0) return T(0);
  const auto count = static_cast<std::uint64_t>(n);
  const std::uint64_t block = policy::block_elements(count), blocks = (count + block - 1) / block;
  Sums sums(blocks * sizeof(T));
  const std::vector<Matrix> operands{vector_of(x, n), vector_of(y, n)};
  const double seconds = 2.0 * sizeof(T) * static_cast<double>(n) / bytes_per_second;
  VectorCut along = cut_vector(operands[0], true, seconds);
  if (!between_blocks(along.runs, block)) along = cut_vector(operands[0], false, seconds);
  std::vector<Task> cut;
  for (const policy::Held& h : to_fit(along.runs, 2 * sizeof(T), block)) {
    const Rectangle elements{h.run.begin, h.run.end, 0, 1};
    cut.push_back({h.device, 0, {{0, elements, Access::read}, {1, elements, Access::read}}});
  }
  note_call("dot", scalar_of<T>, [&] { return std::to_string(n) + " elements"; }, cut, along.why);
  Library& compute = library();
  T* const all = static_cast<T*>(sums.data());
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    const Rectangle& of = task.parts[0].where;
    compute.block_dots(stream, scalar_of<T>, rows_of(of), block, at[0].data, at[1].data, all + of.row_begin / block);
  });
  sums.wait_for(cut);
  for (const Task& t : cut) {
    runtime::count_external_transfer(true, (rows_of(t.parts[0].where) + block - 1) / block * sizeof(T), t.device);
  }
  return sum_of(all, blocks);
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
