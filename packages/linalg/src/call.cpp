// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "own_cut.hpp"
#include "stand_ins.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace semcache::linalg {

void expect_size(const char* routine, const char* name, std::int64_t size) {
  SEMCACHE_EXPECTS(size >= 0 && size <= std::numeric_limits<std::int32_t>::max(),
                   std::string("linalg::") + routine + ": " + name + " is " + std::to_string(size) + "; it must be between 0 and 2147483647");
}

Matrix matrix(const char* routine, const char* name, const void* data, std::int64_t rows, std::int64_t columns, std::int64_t leading,
              std::size_t element_bytes) {
  expect_size(routine, "a leading dimension", leading);
  SEMCACHE_EXPECTS(leading >= std::max<std::int64_t>(1, rows),
                   std::string("linalg::") + routine + ": the leading dimension of " + name + " is " + std::to_string(leading) +
                       ", but it has " + std::to_string(rows) + " rows: it must be at least max(1, rows)");
  return {data, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(leading),
          static_cast<std::uint32_t>(element_bytes)};
}

void expect_apart(const char* routine, const char* operand_name, const Matrix& operand, const char* result_name, const Matrix& result) {
  struct Column {
    std::uintptr_t begin, end;
  };
  const auto column = [](const Matrix& m, std::uint64_t j) {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(m.data) + j * m.leading * m.element_bytes;
    return Column{begin, begin + m.rows * m.element_bytes};
  };
  if (operand.rows * operand.columns == 0 || result.rows * result.columns == 0) return;
  if (column(operand, operand.columns - 1).end <= column(result, 0).begin) return;
  if (column(result, result.columns - 1).end <= column(operand, 0).begin) return;
  for (std::uint64_t i = 0, j = 0; i < operand.columns && j < result.columns;) {
    const Column x = column(operand, i), y = column(result, j);
    SEMCACHE_EXPECTS(x.end <= y.begin || y.end <= x.begin,
                     std::string("linalg::") + routine + ": " + operand_name + " and " + result_name + " overlap: column " + std::to_string(i) +
                         " of " + operand_name + " shares memory with column " + std::to_string(j) + " of " + result_name +
                         ". Copy one of them first");
    if (x.end <= y.begin) ++i;
    else ++j;
  }
}

std::size_t devices_at_most(const Options& o) {
  (void)runtime::device_ordinal(0);
  const auto all = static_cast<std::size_t>(device_count());
  return o.devices == 0 ? all : std::min(o.devices, all);
}

std::size_t devices_for(const Options& o, double seconds_on_one) {
  return policy::devices_that_pay(o.spread, seconds_on_one, devices_at_most(o), o.least_seconds);
}

static policy::HeldOperand held_operand(const ProductOperand& operand) {
  const Matrix& m = *operand.matrix;
  return {m.rows * m.columns * m.element_bytes, tasks::held_bytes(m, {{0, m.rows, 0, m.columns}}).front(), operand.whole, needs_content(operand.mode),
          writes(operand.mode)};
}

std::size_t devices_for(const Options& o, double seconds_on_one, const std::vector<ProductOperand>& operands) {
  const std::size_t most = devices_at_most(o);
  const std::size_t enough_work = policy::devices_that_pay(o.spread, seconds_on_one, most, o.least_seconds);
  if (o.spread != Spread::automatic || enough_work < 2) return enough_work;
  std::vector<policy::HeldOperand> held;
  for (const ProductOperand& operand : operands) {
    if (operand.matrix->rows > 0 && operand.matrix->columns > 0) held.push_back(held_operand(operand));
  }
  return policy::devices_that_pay(o.spread, seconds_on_one, most, held, o.least_seconds);
}

std::uint64_t task_bytes(std::uint32_t device) { return policy::bytes_of_task(memory_of(device)); }

policy::Memory memory_of(std::uint32_t device) { return {runtime::device_budget(device), runtime::device_page_bytes(device)}; }

std::vector<policy::Memory> memory_of_devices() {
  std::vector<policy::Memory> all;
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(device_count()); ++d) all.push_back(memory_of(d));
  return all;
}

std::size_t pieces_of_share(const Options& o, std::uint64_t columns) {
  // Tasks of fewer columns than this do not use a GPU well.
  constexpr std::uint64_t least_columns = 512;
  return o.pieces != 0 ? o.pieces : static_cast<std::size_t>(std::clamp<std::uint64_t>(columns / least_columns, 1, 16));
}

namespace {

/// A cut, and what the program wanted of calls when it was made.
struct Cut {
  std::vector<policy::Run> rows;
  std::vector<policy::Run> around;  ///< see `VectorCut`
  Spread spread;
  std::size_t devices;
  double coming_home;  ///< the seconds that the matrix takes to one device
  policy::SpreadOrHome where = {};
};
/// The cuts of sparse matrices, by the number of rows, and what calls on vectors have cost that are not cut as a matrix.
struct Cuts {
  std::mutex mutex;
  std::uint64_t epoch = 0;  ///< of the runtime whose matrices they are of
  std::map<std::uint64_t, Cut> of;
  std::map<std::uint64_t, policy::SpreadOrHome> vectors;  ///< by the bytes of a call's largest operand
  /// Forgets what belongs to an earlier runtime. Call it with the mutex.
  void renew() {
    if (epoch == runtime::epoch()) return;
    of.clear();
    vectors.clear();
    epoch = runtime::epoch();
  }
  /// Returns the cut of the matrix of so many rows that was used last with these options; nullptr: there is none. Call it with the mutex.
  [[nodiscard]] Cut* find(std::uint64_t rows, const Options& o) {
    const auto found = of.find(rows);
    const bool holds = epoch == runtime::epoch() && found != of.end() && found->second.spread == o.spread && found->second.devices == o.devices;
    return holds ? &found->second : nullptr;
  }
};
Cuts& cuts() {
  static Cuts* const c = new Cuts;  // calls may come from destructors of the program's statics
  return *c;
}
constexpr std::size_t most_cuts = 64;

/// Does each run's device hold all of it?
bool are_held(const std::vector<policy::Held>& runs, const std::vector<policy::Held>& held) {
  return std::all_of(runs.begin(), runs.end(), [&](const policy::Held& r) {
    std::uint64_t done = r.run.begin;
    for (bool found = true; found && done < r.run.end;) {
      found = false;
      for (const policy::Held& h : held) {
        if (h.device != r.device || h.run.begin > done || h.run.end <= done) continue;
        done = h.run.end;
        found = true;
      }
    }
    return done >= r.run.end;
  });
}

/// The runs of devices, by device. Those of devices that are left out are empty.
std::vector<policy::Held> in_order(const std::vector<policy::Run>& runs) {
  std::vector<policy::Held> held;
  for (std::uint32_t device = 0; device < runs.size(); ++device) {
    if (runs[device].size() > 0) held.push_back({runs[device], device});
  }
  return held;
}

}  // namespace

/// Returns what devices beside one have of something that is shared out evenly.
static double share_of_others(std::size_t devices, double all) noexcept { return all * (1.0 - 1.0 / static_cast<double>(devices)); }

void note_cut(const std::vector<policy::Run>& rows, const std::vector<policy::Run>& around, double bytes) {
  const std::size_t devices = in_order(rows).size();
  const double coming_home = share_of_others(devices, bytes) / policy::bytes_between_devices_a_second;
  const Options o = options();
  std::uint64_t all = 0;
  for (const policy::Run& r : rows) all = std::max(all, r.end);
  Cuts& c = cuts();
  const std::lock_guard<std::mutex> lock(c.mutex);
  if (Cut* const known = c.find(all, o); known != nullptr) {
    known->rows = rows;
    known->around = around;
    if (devices > 1) known->coming_home = coming_home;
    return;
  }
  c.renew();
  if (c.of.size() >= most_cuts && c.of.count(all) == 0) c.of.clear();
  c.of[all] = {rows, around, o.spread, o.devices, coming_home};
}

/// Are the calls on matrices of so many rows, and on their vectors, made on one device? Vectors are cut so from now on.
/// @param saved  the seconds that other devices would save this call
static bool is_home(std::uint64_t rows, double saved) {
  const Options o = options();
  Cuts& c = cuts();
  const std::lock_guard<std::mutex> lock(c.mutex);
  Cut* const found = c.find(rows, o);
  if (found == nullptr || !found->where.is_home()) return false;
  found->where.count_home(saved, found->coming_home);
  found->rows = {{0, rows}};
  found->around.clear();
  return true;
}

std::size_t devices_for_sparse(const Options& o, std::uint64_t rows, double seconds_on_one) {
  const std::size_t devices = devices_for(o, seconds_on_one);
  const bool may_come_home = devices > 1 && o.spread == Spread::automatic;
  return may_come_home && is_home(rows, share_of_others(devices, seconds_on_one)) ? 1 : devices;
}

static std::vector<policy::HeldOperand> held_operands(const std::vector<ProductOperand>& operands) {
  std::vector<policy::HeldOperand> held;
  for (const ProductOperand& o : operands) held.push_back(held_operand(o));
  return held;
}

void note_spread(std::uint64_t rows, std::size_t devices, const std::vector<ProductOperand>& operands, double seconds_on_one) {
  const Options o = options();
  if (devices < 2 || o.spread != Spread::automatic) return;
  const double moving = policy::seconds_of_moving(held_operands(operands), devices);
  const double saved = share_of_others(devices, seconds_on_one);
  Cuts& c = cuts();
  const std::lock_guard<std::mutex> lock(c.mutex);
  Cut* const found = c.find(rows, o);
  if (found != nullptr) found->where.count_spread(moving, saved, found->coming_home);
}

static VectorCut evenly_on(const Matrix& vector, std::size_t devices, const char* why) {
  return {in_order(policy::cut_evenly(vector.rows, devices, policy::block_elements(vector.rows))), why};
}

VectorCut cut_evenly(const Matrix& vector, double seconds_on_one) {
  const Options o = options();
  return evenly_on(vector, devices_for(o, seconds_on_one), why_so_many(o));
}

static std::uint32_t holder_of_most(const std::vector<policy::Held>& held, std::size_t devices) {
  std::vector<std::uint64_t> elements(devices, 0);
  for (const policy::Held& h : held) {
    if (h.device < devices) elements[h.device] += h.run.size();
  }
  return static_cast<std::uint32_t>(std::max_element(elements.begin(), elements.end()) - elements.begin());
}

/// How a vector is cut, unless its call is better made at home.
static VectorCut usual_cut(const Options& o, const Matrix& vector, bool has_content, double seconds_on_one) {
  const std::size_t most = devices_at_most(o), that_pay = policy::devices_that_pay(o.spread, seconds_on_one, most, o.least_seconds);
  if (o.spread != Spread::never) {
    Cuts& c = cuts();
    const std::lock_guard<std::mutex> lock(c.mutex);
    Cut* const found = c.find(vector.rows, o);
    if (found != nullptr && found->where.is_home() && in_order(found->rows).size() > 1) {
      found->rows = {{0, vector.rows}};
      found->around.clear();
    }
    std::vector<policy::Held> runs = found == nullptr ? std::vector<policy::Held>{} : in_order(found->rows);
    if (!runs.empty() && runs.size() <= most) return {std::move(runs), "as the sparse matrix of as many rows", found->around, true};
  }
  if (!has_content || most == 1 || o.spread == Spread::never) return evenly_on(vector, that_pay, why_so_many(o));
  const std::vector<policy::Held> held = tasks::held_elements(vector);
  // What devices have read lies around what they have written, so even cuts are tried first. Content that lies on several devices stays there, so
  // that a small call does not gather what a large one has spread.
  constexpr const char* where_it_lies = "where the vector lies";
  for (const std::size_t devices : {that_pay, most}) {
    VectorCut even = evenly_on(vector, devices, where_it_lies);
    if (are_held(even.runs, held)) return even;
  }
  std::vector<policy::Held> as_held = policy::cut_as_held(vector.rows, held, most);
  if (!as_held.empty()) return {std::move(as_held), where_it_lies};
  VectorCut even = evenly_on(vector, that_pay, why_so_many(o));
  if (even.runs.size() == 1) even.runs.front().device = holder_of_most(held, most);
  return even;
}

/// The calls on vectors whose largest operand is that of these. Call it with the mutex.
static policy::SpreadOrHome& calls_like(Cuts& c, const std::vector<policy::HeldOperand>& operands) {
  std::uint64_t bytes = 0;
  for (const policy::HeldOperand& o : operands) bytes = std::max(bytes, o.bytes);
  c.renew();
  if (c.vectors.size() >= most_cuts && c.vectors.count(bytes) == 0) c.vectors.clear();
  return c.vectors[bytes];
}
/// Returns the seconds that vectors take to one device.
static double seconds_home(const std::vector<policy::HeldOperand>& operands, std::size_t devices) {
  double bytes = 0;
  for (const policy::HeldOperand& o : operands) bytes += static_cast<double>(o.bytes);
  return share_of_others(devices, bytes) / policy::bytes_between_devices_a_second;
}
/// Is a call on vectors made at home that would be cut for so many devices otherwise? Then it is counted. What lies on one device stays there,
/// because that device's kernels may use it again; so a loop of calls alone is spread much later (`policy::SpreadOrHome`). What no device has yet is
/// spread.
static bool are_home(const std::vector<policy::HeldOperand>& operands, double seconds_on_one, std::size_t devices, std::uint32_t home) {
  const bool on_host = std::all_of(operands.begin(), operands.end(), [](const policy::HeldOperand& o) {
    return std::all_of(o.on_devices.begin(), o.on_devices.end(), [](std::uint64_t bytes) { return bytes == 0; });
  });
  Cuts& c = cuts();
  const std::lock_guard<std::mutex> lock(c.mutex);
  policy::SpreadOrHome& calls = calls_like(c, operands);
  if (on_host) calls = {};
  else if (!calls.is_home() && !calls.is_trial() && policy::is_better_at_home(operands, seconds_on_one, devices, home)) calls.go_home();
  if (!calls.is_home()) return false;
  calls.count_home(share_of_others(devices, seconds_on_one), seconds_home(operands, devices));
  return true;
}
static void count_spread(std::vector<policy::HeldOperand> operands, double seconds_on_one, std::size_t devices) {
  const double coming_home = seconds_home(operands, devices);
  for (policy::HeldOperand& o : operands) o = policy::without_common_copies(std::move(o), devices);
  Cuts& c = cuts();
  const std::lock_guard<std::mutex> lock(c.mutex);
  calls_like(c, operands).count_spread(policy::seconds_of_moving(operands, devices), share_of_others(devices, seconds_on_one), coming_home);
}

VectorCut cut_vector(const char* routine, const Matrix& vector, bool has_content, double seconds_on_one,
                     const std::vector<ProductOperand>& operands, std::uint64_t grain) {
  const Options o = options();
  const std::vector<Share> own = own_cut(o, routine, vector, ShareForm::rows, operands, grain);
  if (!own.empty()) return {rows_of_shares(own), why_own_cut};
  VectorCut along = usual_cut(o, vector, has_content, seconds_on_one);
  const std::size_t devices = along.runs.size();
  if (devices < 2 || o.spread != Spread::automatic) return along;
  if (along.follows_matrix) {
    note_spread(vector.rows, devices, operands, seconds_on_one);
    return along;
  }
  const std::vector<policy::HeldOperand> held = held_operands(operands);
  const std::uint32_t home = policy::home_of(held, devices_at_most(o));
  if (are_home(held, seconds_on_one, devices, home)) return {{{{0, vector.rows}, home}}, why_so_many(o)};
  count_spread(held, seconds_on_one, devices);
  return along;
}

const char* why_so_many(const Options& o) noexcept {
  switch (o.spread) {
    case Spread::always: return "spread always";
    case Spread::never: return "spread never";
    default: return "as many devices as pay";
  }
}

void note_reported_call(const char* routine, Scalar type, const std::string& shape, const std::vector<Task>& cut, const char* why) {
  std::set<std::uint32_t> devices;
  for (const Task& t : cut) devices.insert(t.device);
  const auto some = [](std::size_t n, const char* what) { return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s"); };
  std::string text = std::string(routine) + ' ' + "sdcz"[static_cast<std::size_t>(type)] + ", " + shape + ": " + some(cut.size(), "task") + " on ";
  text += devices.size() == 1 ? "device " + std::to_string(*devices.begin()) : some(devices.size(), "device");
  runtime::note_library_call(text + ", " + why);
}

template <class T>
std::size_t devices_of_product(double multiplications) {
  const Options o = options();
  return o.cut ? devices_at_most(o) : devices_for(o, seconds_of_product<T>(multiplications));
}
template <class T>
std::size_t devices_of_sparse_product(std::uint64_t rows, std::uint64_t entries, std::uint64_t columns) {
  const Options o = options();
  return o.cut ? devices_at_most(o) : devices_for_sparse(o, rows, seconds_of_sparse_product<T>(rows, entries) * static_cast<double>(columns));
}
template <class T>
std::size_t devices_of_vectors(const T* vector, std::int64_t n, double bytes) {
  if (n == 0 || devices_at_most(options()) == 1) return 1;
  if (const Options own = options(); own.cut) return devices_at_most(own);
  Matrix v = vector_of(vector, n);
  const StandIns stand_in({{&v, Access::read}});
  const Options o = options();
  const double seconds = bytes / bytes_per_second;
  const VectorCut along = usual_cut(o, v, true, seconds);
  const std::size_t devices = along.runs.size();
  if (devices < 2 || o.spread != Spread::automatic || along.follows_matrix) return devices;
  const std::vector<policy::HeldOperand> held = held_operands({{&v, false, Access::read}});
  return are_home(held, seconds, devices, policy::home_of(held, devices_at_most(o))) ? 1 : devices;
}

#define SEMCACHE_LINALG_INSTANTIATE(T)                                                      \
  template SEMCACHE_API std::size_t devices_of_product<T>(double);                          \
  template SEMCACHE_API std::size_t devices_of_sparse_product<T>(std::uint64_t, std::uint64_t, std::uint64_t); \
  template SEMCACHE_API std::size_t devices_of_vectors(const T*, std::int64_t, double);
SEMCACHE_LINALG_INSTANTIATE(float)
SEMCACHE_LINALG_INSTANTIATE(double)
SEMCACHE_LINALG_INSTANTIATE(std::complex<float>)
SEMCACHE_LINALG_INSTANTIATE(std::complex<double>)

}  // namespace semcache::linalg
