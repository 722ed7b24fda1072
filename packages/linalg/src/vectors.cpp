// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "block_sums.hpp"
#include "stand_ins.hpp"

#include <semcache/linalg/vectors.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

namespace semcache::linalg {

namespace {

void expect_count(const char* routine, std::int64_t n) {
  SEMCACHE_EXPECTS(n >= 0, std::string("linalg::") + routine + ": n is " + std::to_string(n) + "; it must not be negative");
}

/// Tasks of several devices would read elements that others write.
template <class T>
void expect_apart(const char* routine, std::int64_t n, const T* x, const T* y) {
  const auto first = reinterpret_cast<std::uintptr_t>(x), second = reinterpret_cast<std::uintptr_t>(y);
  const std::uint64_t distance = first < second ? second - first : first - second, bytes = static_cast<std::uint64_t>(n) * sizeof(T);
  SEMCACHE_EXPECTS(distance == 0 || distance >= bytes,
                   std::string("linalg::") + routine + ": x and y overlap: they begin " + std::to_string(distance) + " bytes apart and have " +
                       std::to_string(bytes) + " bytes each. Pass the same vector twice, or copy one of them");
}

/// Page-locked memory for the sums of blocks, which kernels write and the host reads behind them. It is kept for later calls.
class Sums {
 public:
  explicit Sums(std::size_t least_bytes) {
    std::size_t bytes = 4096;
    while (bytes < least_bytes) bytes *= 2;  // few sizes, so that vectors of several lengths use the same buffers
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

/// Sums of vectors so large are cut into such pieces, each of which begins as soon as what it uses is there, and of which the host gets the first
/// while others are computed.
constexpr std::uint64_t piece_bytes = std::uint64_t{128} << 20;

/// Cuts runs into pieces of which a task's operands fit, each a multiple of `grain`, but for the last one. Where fewer elements than that fit a
/// third of the memory, each piece has as many, and the call fails where the whole memory has no room for them.
std::vector<policy::Held> to_fit(const std::vector<policy::Held>& runs, std::size_t bytes_of_element, std::uint64_t grain,
                                 std::uint64_t most_elements = UINT64_MAX) {
  std::vector<policy::Held> pieces;
  for (const policy::Held& h : runs) {
    const std::uint64_t most = std::max(grain, std::min<std::uint64_t>(task_bytes(h.device) / bytes_of_element, most_elements));
    for (const policy::Run& r : policy::cut_to_fit(h.run, most, grain)) pieces.push_back({r, h.device});
  }
  return pieces;
}

/// The operands of a call on two vectors, which may be the same.
std::vector<ProductOperand> both(const Matrix& x, const Matrix& y, Access of_y) {
  std::vector<ProductOperand> vectors;
  if (x.data != y.data) vectors.push_back({&x, false, Access::read});
  vectors.push_back({&y, false, of_y});
  return vectors;
}

/// Gives the vectors room for what lies around their runs, where that of all operands fits.
/// @param bytes_of_element  of all operands
void make_room_around(std::vector<Task>& tasks, const VectorCut& along, std::size_t bytes_of_element) {
  for (Task& t : tasks) {
    if (t.device >= along.around.size() || along.around[t.device].size() * bytes_of_element > task_bytes(t.device)) continue;
    for (policy::TaskPart& part : t.parts) part.together = {along.around[t.device].begin, along.around[t.device].end, 0, 1};
  }
}

/// Cuts a sum of vectors into tasks. Several on one device come before the kernels of other calls that have not begun, because the host may wait.
template <class T>
std::vector<Task> cut_sum(const VectorCut& along, const std::vector<Access>& operands) {
  const std::size_t bytes_of_element = operands.size() * sizeof(T);
  std::vector<Task> tasks = policy::cut(to_fit(along.runs, bytes_of_element, 1, piece_bytes / sizeof(T)), operands);
  make_room_around(tasks, along, bytes_of_element);
  std::set<std::uint32_t> devices;
  for (const Task& t : tasks) devices.insert(t.device);
  if (tasks.size() > devices.size()) {
    for (Task& t : tasks) t.lane = tasks::short_lane;
  }
  return tasks;
}

/// Are all cuts between blocks?
bool between_blocks(const std::vector<policy::Held>& runs, std::uint64_t block) {
  return std::all_of(runs.begin(), runs.end(), [&](const policy::Held& h) { return h.run.begin % block == 0; });
}

}  // namespace

template <class T>
void axpby(std::int64_t n, T alpha, const T* x, T beta, T* y) {
  axpby(n, Factor<T>(alpha), x, Factor<T>(beta), y);
}

template <class T>
void scal(std::int64_t n, T alpha, T* x) {
  expect_count("scal", n);
  if (n == 0) return;
  std::vector<Matrix> operands{vector_of(x, n)};
  StandIns stand_ins({{&operands[0], Access::read_write}});
  const double seconds = 2.0 * sizeof(T) * static_cast<double>(n) / bytes_per_second;
  const VectorCut along = cut_vector("scal", operands[0], true, seconds, {{&operands[0], false, Access::read_write}});
  const std::vector<Task> cut = cut_sum<T>(along, {Access::read_write});
  note_call("scal", scalar_of<T>, [&] { return std::to_string(n) + " elements"; }, cut, along.why);
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    const T none(0);
    compute.axpby(stream, scalar_of<T>, rows_of(task.parts[0].where), &alpha, at[0].data, &none, at[0].data);
  });
  stand_ins.write_back();
}

namespace {

/// The blocks of a dot product, and its tasks, which read operands 0 and 1.
struct Blocks {
  std::uint64_t elements, count;
};
Blocks blocks_of(std::uint64_t n) noexcept {
  const std::uint64_t block = policy::block_elements(n);
  return {block, (n + block - 1) / block};
}
template <class T>
std::vector<Task> cut_dot(std::int64_t n, const Matrix& x, const Matrix& y, std::uint64_t block) {
  const double seconds = 2.0 * sizeof(T) * static_cast<double>(n) / bytes_per_second;
  VectorCut along = cut_vector("dot", x, true, seconds, both(x, y, Access::read), block);
  if (!between_blocks(along.runs, block)) along = cut_evenly(x, seconds);
  std::vector<Task> cut;
  for (const policy::Held& h : to_fit(along.runs, 2 * sizeof(T), block)) {
    const Rectangle elements{h.run.begin, h.run.end, 0, 1};
    cut.push_back({h.device, 0, {{0, elements, Access::read}, {1, elements, Access::read}}});
  }
  make_room_around(cut, along, 2 * sizeof(T));
  note_call("dot", scalar_of<T>, [&] { return std::to_string(n) + " elements"; }, cut, along.why);
  return cut;
}

}  // namespace

template <class T>
T dot(std::int64_t n, const T* x, const T* y) {
  expect_count("dot", n);
  if (n == 0) return T(0);
  const auto [block, blocks] = blocks_of(static_cast<std::uint64_t>(n));
  Sums sums(blocks * sizeof(T));
  std::vector<Matrix> operands{vector_of(x, n), vector_of(y, n)};
  const StandIns stand_ins({{&operands[0], Access::read}, {&operands[1], Access::read}});
  const std::vector<Task> cut = cut_dot<T>(n, operands[0], operands[1], block);
  Library& compute = library();
  T* const all = static_cast<T*>(sums.data());
  const std::uint64_t of_block = block;  // lambdas capture no structured binding
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    const Rectangle& of = task.parts[0].where;
    compute.block_dots(stream, scalar_of<T>, rows_of(of), of_block, at[0].data, at[1].data, all + of.row_begin / of_block);
  });
  sums.wait_for(cut);
  for (const Task& t : cut) {
    runtime::count_external_transfer((rows_of(t.parts[0].where) + block - 1) / block * sizeof(T), t.device);
  }
  return sum_of(all, blocks);
}

template <class T>
RealOf<T> nrm2(std::int64_t n, const T* x) {
  return std::sqrt(std::real(dot(n, x, x)));
}

// --- numbers that stay on the devices ------------------------------------------------------------------------------------

/// The sums of a dot product's blocks are an array, of which each device has computed a part. A device that needs the number itself adds them all.
template <class T>
struct DeviceScalar<T>::State : base::Uncopied {
  State() {
    (void)runtime::device_ordinal(0);  // starts the runtime
    epoch = runtime::epoch();
    on_devices.resize(static_cast<std::size_t>(device_count()));
  }
  ~State() {
    if (epoch != runtime::epoch()) return;  // its arrays ended with their runtime
    if (sums != nullptr) runtime::deallocate(sums);
    for (const OnDevice& d : on_devices) {
      if (d.number != nullptr) runtime::deallocate(d.number);
    }
  }
  void expect_current() const {
    SEMCACHE_EXPECTS(epoch == runtime::epoch(), "a linalg::DeviceScalar of a runtime that has ended: make it after the start of the next one");
  }
  void expect_computed() const {
    expect_current();
    SEMCACHE_EXPECTS(is_computed, "a linalg::DeviceScalar has no value yet: linalg::dot computes it");
  }
  /// Makes room for the sums of a new dot product. There is no value until the call has set `is_computed`.
  void begin(std::uint64_t of_blocks) {
    expect_current();
    is_computed = false;
    if (of_blocks != blocks) {
      if (sums != nullptr) runtime::deallocate(std::exchange(sums, nullptr));
      blocks = 0;
      sums = static_cast<T*>(runtime::allocate_host("sums of blocks (linalg)", of_blocks * sizeof(T), nullptr, base::Accesses::announced));
    }
    blocks = of_blocks;
    for (OnDevice& d : on_devices) d.is_current = false;
  }
  [[nodiscard]] Matrix matrix() const noexcept { return {sums, blocks, 1, blocks, sizeof(T)}; }
  /// Returns the array on the device that has the number, or will have it when its tasks so far are done.
  T* number_on(std::uint32_t device) {
    OnDevice& d = on_devices.at(device);
    if (d.number == nullptr) d.number = static_cast<T*>(runtime::allocate_device("sum (linalg)", sizeof(T), device));
    if (d.is_current) return d.number;
    const std::vector<Matrix> operands{matrix(), vector_of(d.number, 1)};
    const std::vector<Task> one{{device, 0, {{0, {0, blocks, 0, 1}, Access::read}, {1, {0, 1, 0, 1}, Access::overwrite}}}};
    Library& compute = library();
    tasks::run(one, operands, [&](const runtime::Stream& stream, const Task&, const Operand* at) {
      compute.sum(stream, scalar_of<T>, blocks, at[0].data, at[1].data);
    });
    d.is_current = true;
    return d.number;
  }

  struct OnDevice {
    T* number = nullptr;
    bool is_current = false;
  };
  std::uint64_t epoch = 0;
  T* sums = nullptr;
  std::uint64_t blocks = 0;  ///< that `sums` has room for
  bool is_computed = false;
  std::vector<OnDevice> on_devices;
};

/// What the calls need of a DeviceScalar.
struct DeviceScalarAccess {
  template <class T>
  static typename DeviceScalar<T>::State& of(const DeviceScalar<T>& s) noexcept { return *s.state_; }
};

template <class T>
DeviceScalar<T>::DeviceScalar() : state_(std::make_unique<State>()) {}
template <class T>
DeviceScalar<T>::~DeviceScalar() = default;
template <class T>
T DeviceScalar<T>::get() const {
  state_->expect_computed();
  access(state_->sums, state_->blocks * sizeof(T), Access::read);
  return sum_of(state_->sums, state_->blocks);
}

template <class T>
void dot(std::int64_t n, const T* x, const T* y, DeviceScalar<T>& result) {
  expect_count("dot", n);
  auto& to = DeviceScalarAccess::of(result);
  if (n == 0) {  // one block, of nothing
    to.begin(1);
    access(to.sums, sizeof(T), Access::overwrite);
    to.sums[0] = T(0);
    to.is_computed = true;
    return;
  }
  const auto [block, blocks] = blocks_of(static_cast<std::uint64_t>(n));
  to.begin(blocks);
  std::vector<Matrix> operands{vector_of(x, n), vector_of(y, n), to.matrix()};
  const StandIns stand_ins({{&operands[0], Access::read}, {&operands[1], Access::read}});
  std::vector<Task> cut = cut_dot<T>(n, operands[0], operands[1], block);
  for (Task& t : cut) {
    const Rectangle& of = t.parts[0].where;
    t.parts.push_back({2, {of.row_begin / block, (of.row_end + block - 1) / block, 0, 1}, Access::overwrite});
  }
  Library& compute = library();
  const std::uint64_t of_block = block;  // lambdas capture no structured binding
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    compute.block_dots(stream, scalar_of<T>, rows_of(task.parts[0].where), of_block, at[0].data, at[1].data, at[2].data);
  });
  to.is_computed = true;
}

template <class T>
void axpby(std::int64_t n, const typename FactorOf<T>::type& alpha, const T* x, const typename FactorOf<T>::type& beta, T* y) {
  expect_count("axpby", n);
  const DeviceScalar<T>* const numbers[] = {alpha.numerator, alpha.denominator, beta.numerator, beta.denominator};
  for (const DeviceScalar<T>* const s : numbers) {
    if (s != nullptr) DeviceScalarAccess::of(*s).expect_computed();
  }
  if (n == 0) return;
  expect_apart("axpby", n, x, y);
  std::vector<Matrix> operands{vector_of(x, n), vector_of(y, n)};
  const bool reads_y = beta.numerator != nullptr || beta.times != T(0);
  const Access of_y = reads_y ? Access::read_write : Access::overwrite;
  StandIns stand_ins({{&operands[0], Access::read}, {&operands[1], of_y}});
  const double seconds = 3.0 * sizeof(T) * static_cast<double>(n) / bytes_per_second;
  const VectorCut along = cut_vector("axpby", operands[reads_y ? 1 : 0], true, seconds, both(operands[0], operands[1], of_y));
  std::vector<Task> cut = cut_sum<T>(along, {Access::read, of_y});
  // Each task reads the numbers that its own device has.
  for (Task& t : cut) {
    for (const DeviceScalar<T>* const s : numbers) {
      if (s == nullptr) continue;
      t.parts.push_back({static_cast<std::uint32_t>(operands.size()), {0, 1, 0, 1}, Access::read});
      operands.push_back(vector_of(DeviceScalarAccess::of(*s).number_on(t.device), 1));
    }
  }
  note_call("axpby", scalar_of<T>, [&] { return std::to_string(n) + " elements"; }, cut, along.why);
  Library& compute = library();
  tasks::run(cut, operands, [&](const runtime::Stream& stream, const Task& task, const Operand* at) {
    std::size_t next = 2;
    const auto quotient = [&](const Factor<T>& f) {
      if (f.numerator == nullptr) return Quotient{};
      next += 2;
      return Quotient{at[next - 2].data, at[next - 1].data};
    };
    const Quotient of_alpha = quotient(alpha), of_beta = quotient(beta);
    const std::uint64_t count = rows_of(task.parts[1].where);
    if (next == 2) {
      compute.axpby(stream, scalar_of<T>, count, &alpha.times, at[0].data, &beta.times, at[1].data);
    } else {
      compute.axpby_of_quotients(stream, scalar_of<T>, count, &alpha.times, of_alpha, at[0].data, &beta.times, of_beta, at[1].data);
    }
  });
  stand_ins.write_back();
}

#define SEMCACHE_LINALG_INSTANTIATE(T)                                \
  template SEMCACHE_API void axpby(std::int64_t, T, const T*, T, T*); \
  template SEMCACHE_API void scal(std::int64_t, T, T*);               \
  template SEMCACHE_API T dot(std::int64_t, const T*, const T*);      \
  template SEMCACHE_API RealOf<T> nrm2(std::int64_t, const T*);       \
  template class SEMCACHE_API DeviceScalar<T>;                        \
  template SEMCACHE_API void dot(std::int64_t, const T*, const T*, DeviceScalar<T>&); \
  template SEMCACHE_API void axpby(std::int64_t, const FactorOf<T>::type&, const T*, const FactorOf<T>::type&, T*);
SEMCACHE_LINALG_INSTANTIATE(float)
SEMCACHE_LINALG_INSTANTIATE(double)
SEMCACHE_LINALG_INSTANTIATE(std::complex<float>)
SEMCACHE_LINALG_INSTANTIATE(std::complex<double>)

}  // namespace semcache::linalg
