// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Measures what an operation costs while many arrays exist that it does not use. Needs no Kokkos; runs on the emulated device.
#include <semcache/base/own_memory.hpp>
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>
#include <semcache/tasks/tasks.hpp>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace semcache;
using Clock = std::chrono::steady_clock;

constexpr const char* usage =
    "many_arrays [--part NAME] [COUNT ...]   (10 1000 16000 100000)\n"
    "NAME: saved, mirrors, parts, ready, allocations, kernel, freed, adopted, bytes, evictions or tiles; all of them if it is not given.\n"
    "Prints what operations cost, in microseconds, while so many other arrays live: medians on the emulated device, one process for all.\n"
    "Figures at 100,000 beside those at 10 tell what grows with arrays that are not concerned. The processor's caches do not hold\n"
    "100,000 arrays, so figures that come to another array each time grow by some misses even where no work does. In a virtual machine,\n"
    "let another process fill the memory first: pages that the machine has never used cost microseconds each.\n";

constexpr std::size_t bytes = 4096;  ///< of each array
constexpr std::size_t samples = 201;

double us_since(Clock::time_point start) { return std::chrono::duration<double, std::micro>(Clock::now() - start).count(); }

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

template <class Body>
double time_of(const Body& body) {
  const auto start = Clock::now();
  body();
  return us_since(start);
}

/// Returns the median time of `repeats` calls that follow each other, in microseconds.
template <class Body>
double median_of(std::size_t repeats, const Body& body) {
  std::vector<double> us;
  for (std::size_t k = 0; k < samples; ++k) {
    us.push_back(time_of([&] {
      for (std::size_t r = 0; r < repeats; ++r) body();
    }) / static_cast<double>(repeats));
  }
  return median(us);
}

/// Makes the processor's caches hold other bytes, so that what is measured next costs the same misses however many arrays there are.
void empty_caches() {
  static std::vector<unsigned char> other(std::size_t{256} << 20);
  for (std::size_t i = 0; i < other.size(); i += 64) ++other[i];
}

QueueId queue() { return runtime::queue_of(nullptr); }

enum class Known { yes, no };

void launch(void* array, Access mode, Known known = Known::yes) {
  const bool writes = mode != Access::read;
  const runtime::Capture capture{array, nullptr, 0, writes, known == Known::no};
  const runtime::Launch l(queue(), "kernel", &capture, 1);
  auto* const p = static_cast<volatile double*>(array);
  if (writes) {
    p[0] = p[0] + 1;
  } else {
    (void)p[0];
  }
}

/// Writes all `n` bytes of `array` by a launch, so that each of its pages has memory.
void write_all(void* array, std::size_t n) {
  const runtime::Capture capture{array, nullptr, 0, true, false};
  const runtime::Launch l(queue(), "kernel", &capture, 1);
  std::memset(array, 1, n);
}

void* device_array() { return runtime::allocate_device("array", bytes); }
void* written_array() {
  void* const array = device_array();
  launch(array, Access::overwrite);
  return array;
}
void* mirror() { return runtime::allocate_host("mirror", bytes); }
/// Makes a mirror whose content is held only by a snapshot, because the array that it was copied from is freed.
void* mirror_of_freed() {
  void* const kept = mirror();
  void* const array = written_array();
  runtime::copy(kept, array, bytes, queue());
  runtime::deallocate(array);
  return kept;
}

class Arrays {
 public:
  template <class Make>
  Arrays(std::size_t count, const Make& make) : arrays_(count) {
    for (void*& a : arrays_) a = make();
  }
  ~Arrays() {
    for (void* a : arrays_) runtime::deallocate(a);
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;
  [[nodiscard]] void*& operator[](std::size_t i) { return arrays_[i]; }
  [[nodiscard]] std::size_t size() const { return arrays_.size(); }

 private:
  std::vector<void*> arrays_;
};

void touch(void* host) {
  auto* const p = static_cast<volatile double*>(host);
  p[0] = p[0] + 1;
}

/// What the program and SemCache hold of the heap and of SemCache's own memory.
std::uint64_t heap_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd + base::memory_held();
}

class Table {
 public:
  void add(const std::string& name, double value) {
    for (Row& r : rows_) {
      if (r.name == name) return r.values.push_back(value);
    }
    rows_.push_back({name, {value}});
  }
  void print(const std::vector<std::size_t>& counts) const {
    std::printf("%-58s", "us, medians");
    for (const std::size_t n : counts) std::printf(" %9zu", n);
    std::printf("    last/first\n");
    for (const Row& r : rows_) {
      std::printf("%-58s", r.name.c_str());
      for (const double v : r.values) std::printf(" %9.2f", v);
      std::printf(" %9.2f\n", r.values.back() / r.values.front());
    }
  }

 private:
  struct Row {
    std::string name;
    std::vector<double> values;
  };
  std::vector<Row> rows_;
};

void beside_saved_copies(std::size_t count, Table& table) {
  const Arrays others(count, &mirror_of_freed);
  Arrays own(2, &written_array);
  void* const host = mirror();
  std::vector<double> copies, launches, faults, reads;
  for (std::size_t k = 0; k < samples; ++k) {
    copies.push_back(time_of([&] { runtime::copy(host, own[0], bytes, queue()); }));
    faults.push_back(time_of([&] { touch(host); }));
    launch(own[0], Access::read_write);
    runtime::copy(host, own[0], bytes, queue());
    reads.push_back(time_of([&] { access(host, bytes, Access::read); }));
    runtime::copy(own[1], host, bytes, queue());
    launches.push_back(time_of([&] { launch(own[1], Access::read); }));
    launch(own[0], Access::read_write);
  }
  runtime::deallocate(host);
  table.add("saved copies: a copy", median(copies));
  table.add("saved copies: a launch that must fetch", median(launches));
  table.add("saved copies: a host fault", median(faults));
  table.add("saved copies: an announced read", median(reads));
  table.add("saved copies: one more made, and dropped", median_of(1, [] { runtime::deallocate(mirror_of_freed()); }));
}

void beside_mirrors_of_one(std::size_t count, Table& table) {
  void* const source = written_array();
  const auto copied = [source] {
    void* const m = mirror();
    runtime::copy(m, source, bytes, queue());
    return m;
  };
  Arrays mirrors(count, copied);
  std::vector<double> made, faults, reads, frees, cold_frees, new_frees, writes, cold_writes;
  void* const other = written_array();
  void* const wants_other = mirror();
  for (int k = 0; k < 10; ++k) {
    const bool cold = k % 2 != 0;
    if (cold) {
      empty_caches();
    } else {
      runtime::copy(wants_other, other, bytes, queue());  // a launch of the same kind first, so that its code is in the caches
      launch(other, Access::read_write);
    }
    (cold ? cold_writes : writes).push_back(time_of([&] { launch(source, Access::read_write); }));
    for (std::size_t i = 0; i < count; ++i) runtime::copy(mirrors[i], source, bytes, queue());
  }
  for (std::size_t i = 0; i < count / 2; ++i) access(mirrors[i], bytes, Access::read);
  for (std::size_t k = 0; k < samples; ++k) {
    void*& m = mirrors[k * 7919 % count];
    frees.push_back(time_of([&] { runtime::deallocate(m); }));
    made.push_back(time_of([&] { m = copied(); }));
    faults.push_back(time_of([&] { (void)*static_cast<volatile double*>(m); }));
    new_frees.push_back(time_of([&] { runtime::deallocate(m); }));
    m = copied();
    reads.push_back(time_of([&] { access(m, bytes, Access::read); }));
  }
  for (std::size_t k = 0; k < 21; ++k) {
    void*& m = mirrors[k * 7919 % count];
    empty_caches();
    cold_frees.push_back(time_of([&] { runtime::deallocate(m); }));
    m = copied();
    access(m, bytes, Access::read);
  }
  table.add("mirrors of one array: one more, copied to lazily", median(made));
  table.add("mirrors of one array: a read of one, a host fault", median(faults));
  table.add("mirrors of one array: an announced read of one", median(reads));
  table.add("mirrors of one array: the newest freed", median(new_frees));
  table.add("mirrors of one array: any freed", median(frees));
  table.add("mirrors of one array: the same with emptied caches", median(cold_frees));
  table.add("mirrors of one array: a launch that writes that array", median(writes));
  table.add("mirrors of one array: that launch with emptied caches", median(cold_writes));
  for (void* const array : {wants_other, other, source}) runtime::deallocate(array);
}

/// Measures mirrors of a few bytes each that want, or have, pieces of one array.
void beside_parts_of_one(std::size_t count, Table& table) {
  constexpr std::size_t piece = 512;
  void* const whole = runtime::allocate_device("whole", (count + 1) * piece);
  write_all(whole, (count + 1) * piece);
  const auto copied = [whole](std::size_t i) {
    void* const m = runtime::allocate_host("mirror of a piece", piece);
    runtime::copy(m, static_cast<std::byte*>(whole) + i * piece, piece, queue());
    return m;
  };
  std::size_t made = 0;
  Arrays mirrors(count, [&] { return copied(made++); });
  for (std::size_t i = 0; i < count; i += 2) access(mirrors[i], piece, Access::read);
  std::vector<double> copies, same_copies, reads, frees, same_frees, cold_frees;
  const auto exchange = [&](std::size_t i, std::vector<double>& freed, std::vector<double>& made_again) {
    freed.push_back(time_of([&] { runtime::deallocate(mirrors[i]); }));
    made_again.push_back(time_of([&] { mirrors[i] = copied(i); }));
    reads.push_back(time_of([&] { access(mirrors[i], piece, Access::read); }));
  };
  for (std::size_t k = 0; k < samples; ++k) exchange(k * 7919 % count, frees, copies);
  for (std::size_t k = 0; k < samples; ++k) exchange(count / 2, same_frees, same_copies);
  table.add("pieces of one array: one more, copied to lazily", median(copies));
  table.add("pieces of one array: one more, the same each time", median(same_copies));
  table.add("pieces of one array: an announced read of one", median(reads));
  table.add("pieces of one array: any freed", median(frees));
  table.add("pieces of one array: the same one freed each time", median(same_frees));
  for (std::size_t k = 0; k < 21; ++k) {
    empty_caches();
    exchange(k * 7919 % count, cold_frees, copies);
  }
  table.add("pieces of one array: any freed, with emptied caches", median(cold_frees));
  table.add("pieces of one array: that array freed, for each piece", time_of([&] { runtime::deallocate(whole); }) / static_cast<double>(count));
}

void beside_ready_arrays(std::size_t count, Table& table) {
  Arrays others(count, &written_array);
  table.add("ready arrays: a known launch", median_of(10, [&] { launch(others[0], Access::read_write); }));
  table.add("ready arrays: an unknown launch", median_of(1, [&] { launch(others[0], Access::read_write, Known::no); }));
  void* const host = mirror();
  runtime::copy(host, others[0], bytes, queue());
  const auto fetched = [&] {
    launch(others[0], Access::read_write, Known::no);
    runtime::copy(host, others[0], bytes, queue());
    access(host, bytes, Access::read);
  };
  fetched();
  table.add("ready arrays: unknown launch, copy, announced read", median_of(1, fetched));
  runtime::deallocate(host);
  std::vector<double> queues, launches;
  for (std::size_t k = 0; k < samples; ++k) {
    const char stream{};
    queues.push_back(time_of([&] { runtime::retire_queue(runtime::lease_queue(const_cast<char*>(&stream))); }));
    launches.push_back(time_of([&] { launch(others[0], Access::read_write); }));
  }
  table.add("ready arrays: a stream made known, and given up", median(queues));
  table.add("ready arrays: a known launch behind that", median(launches));
}

/// Measures arrays that a kernel's body frees, as that of a View of Views does on the emulated device: they go when the launch ends. All of
/// them are freed at once, so this is the cost of each of many, not that beside many (`ten_freed_in_a_kernel`).
void freed_in_a_kernel(std::size_t count, Table& table) {
  void* const own = written_array();
  Arrays arrays(count, &written_array);
  const double us = time_of([&] {
    const runtime::Capture capture{own, nullptr, 0, true, true};
    const runtime::Launch l(queue(), "frees", &capture, 1);
    for (std::size_t i = 0; i < count; ++i) runtime::deallocate(std::exchange(arrays[i], nullptr));
  });
  table.add("arrays freed in a kernel: each of them", us / static_cast<double>(count));
  runtime::deallocate(own);
}

/// Measures a launch whose body frees ten arrays of a granule each, beside the others, which stay.
void ten_freed_in_a_kernel(std::size_t count, Table& table) {
  constexpr std::size_t granule = 64 * 1024;
  const Arrays others(count, &written_array);
  void* const own = written_array();
  const auto sample = [&](const auto& before) {
    Arrays ten(10, [] {
      void* const a = runtime::allocate_device("array", granule - runtime::header_bytes);
      write_all(a, granule - runtime::header_bytes);
      return a;
    });
    before();
    return time_of([&] {
      const runtime::Capture capture{own, nullptr, 0, true, true};
      const runtime::Launch l(queue(), "frees", &capture, 1);
      for (std::size_t i = 0; i < ten.size(); ++i) runtime::deallocate(std::exchange(ten[i], nullptr));
    });
  };
  std::vector<double> warm, cold;
  for (std::size_t k = 0; k < samples; ++k) warm.push_back(sample([] {}));
  for (std::size_t k = 0; k < 21; ++k) cold.push_back(sample(&empty_caches));
  table.add("ten arrays freed in a kernel: that launch", median(warm));
  table.add("ten arrays freed in a kernel: the same with emptied caches", median(cold));
  runtime::deallocate(own);
}

/// Measures adopted memory: ranges of two pages each, side by side.
void beside_adopted_ranges(std::size_t count, Table& table) {
  const std::size_t ranges = std::min<std::size_t>(count, 10000), range = 2 * bytes;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(range, (ranges + 1) * range));
  for (std::size_t i = 0; i < ranges; ++i) runtime::adopt(memory + i * range, range, "range");
  void* const array = runtime::allocate_device("array", range);
  write_all(array, range);
  std::vector<double> adopted, copies, faults, released;
  for (std::size_t k = 0; k < samples; ++k) {
    std::byte* const one = memory + k * 7919 % ranges * range;
    copies.push_back(time_of([&] { runtime::copy(one, array, range, queue()); }));
    faults.push_back(time_of([&] { touch(one); }));
    released.push_back(time_of([&] { runtime::release(one); }));
    adopted.push_back(time_of([&] { runtime::adopt(one, range, "range"); }));
    launch(array, Access::read_write);
  }
  table.add("up to 10,000 adopted ranges: a copy to one", median(copies));
  table.add("up to 10,000 adopted ranges: a host fault", median(faults));
  table.add("up to 10,000 adopted ranges: any released", median(released));
  table.add("up to 10,000 adopted ranges: one more adopted", median(adopted));
  runtime::deallocate(array);
  for (std::size_t i = 0; i < ranges; ++i) runtime::release(memory + i * range);
  std::free(memory);
}

void allocations(std::size_t count, Table& table) {
  {
    const Arrays others(count, &device_array);
    table.add("a device array allocated and freed", median_of(10, [] { runtime::deallocate(device_array()); }));
    table.add("a device array allocated, written and freed", median_of(10, [] { runtime::deallocate(written_array()); }));
  }
  {
    const Arrays others(count, &mirror);
    table.add("a mirror allocated and freed", median_of(10, [] { runtime::deallocate(mirror()); }));
    table.add("a mirror allocated, written and freed", median_of(10, [] {
                void* const m = mirror();
                touch(m);
                runtime::deallocate(m);
              }));
  }
  {
    Arrays others(2 * count, &device_array);
    for (std::size_t i = 0; i < others.size(); i += 2) runtime::deallocate(std::exchange(others[i], nullptr));
    table.add("holes: a larger device array allocated and freed", median_of(10, [] {
                runtime::deallocate(runtime::allocate_device("larger", 4 * bytes));
              }));
  }
}

/// Measures the heap memory that each of `count` arrays takes. What the first array allocates once is not counted.
template <class Make>
void host_bytes(const char* name, std::size_t count, Table& table, const Make& make) {
  finalize();
  const Arrays first(1, make);
  const std::uint64_t before = heap_bytes();
  const Arrays others(count, make);
  table.add(name, static_cast<double>(heap_bytes() - before - count * sizeof(void*)) / static_cast<double>(count));
}

void host_bytes_of_each(std::size_t count, Table& table) {
  host_bytes("bytes: a device array", count, table, &device_array);
  host_bytes("bytes: a device array that has content", count, table, &written_array);
  host_bytes("bytes: a mirror", count, table, &mirror);
  host_bytes("bytes: a mirror, and the saved copy that it wants", count, table, &mirror_of_freed);
}

/// Measures evictions. The arrays have a granule each, the budget holds fewer than `count` of them, and the arrays that were
/// used longest ago are needed next. Content, too, is fetched from the processor's caches while the arrays are few, so each
/// measurement is made twice, as it comes and with emptied caches.
void evictions(std::size_t count, Table& table) {
  constexpr std::size_t granule = 64 * 1024;
  ::setenv("SEMCACHE_DEVICE_MEMORY", std::to_string(count * granule).c_str(), 1);
  {
    Arrays arrays(count + 16, [] {
      void* const a = runtime::allocate_device("array", granule - runtime::header_bytes);
      write_all(a, granule - runtime::header_bytes);
      return a;
    });
    std::size_t next = 0;
    const auto missing = [&] {
      launch(arrays[next], Access::read_write);
      next = (next + 1) % arrays.size();
    };
    for (std::size_t i = 0; i < 32; ++i) missing();
    const std::uint64_t before = statistics().total.evictions;
    table.add("resident arrays: a launch that evicts one and fetches one", median_of(1, missing));
    std::vector<double> cold;
    for (int k = 0; k < 21; ++k) {
      empty_caches();
      cold.push_back(time_of(missing));
    }
    table.add("resident arrays: the same with emptied caches", median(cold));
    if (statistics().total.evictions < before + samples / 2) std::fputs("few evictions: the budget holds all arrays\n", stderr);
  }
  finalize();
  ::unsetenv("SEMCACHE_DEVICE_MEMORY");
}

/// Measures tasks that use a tile of one array each, the tiles in turn on two devices.
void tiles(std::size_t count, Table& table) {
  constexpr std::size_t rows = 2048;
  const std::size_t columns = std::min<std::size_t>(count, 16000);
  ::setenv("SEMCACHE_DEVICES", "2", 1);
  const tasks::Matrix matrix{runtime::allocate_device("matrix", columns * rows * sizeof(double)), rows, columns, rows, sizeof(double)};
  const auto use = [&](Access mode) {
    std::vector<policy::Task> list(columns);
    for (std::size_t c = 0; c < columns; ++c) list[c] = {static_cast<std::uint32_t>(c % 2), 0, {{0, {0, rows, c, c + 1}, mode, {}}}};
    const double us = time_of([&] { tasks::run(list, {matrix}, [](const runtime::Stream&, const policy::Task&, const tasks::Operand*) {}); });
    return us / static_cast<double>(columns);
  };
  table.add("up to 16,000 tiles: a task that overwrites one", use(Access::overwrite));
  table.add("up to 16,000 tiles: a task that reads one", use(Access::read));
  table.add("up to 16,000 tiles: a task that writes one that is there", use(Access::read_write));
  runtime::deallocate(const_cast<void*>(matrix.data));
  finalize();
  ::unsetenv("SEMCACHE_DEVICES");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::size_t> counts;
  const char* part = "";
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--part") == 0 && i + 1 < argc) {
      part = argv[++i];
      continue;
    }
    counts.push_back(std::strtoul(argv[i], nullptr, 10));
    if (counts.back() == 0) {
      std::fputs(usage, std::strcmp(argv[i], "--help") == 0 ? stdout : stderr);
      return std::strcmp(argv[i], "--help") == 0 ? 0 : 1;
    }
  }
  if (counts.empty()) counts = {10, 1000, 16000, 100000};
  ::setenv("SEMCACHE_DEVICE", "emulated", 1);
  // As on a GPU, device pages are not protected: otherwise they would need more mappings than the kernel allows.
  ::setenv("SEMCACHE_DEVICE_TRACKER", "off", 1);
  Table table;
  using Measure = void (*)(std::size_t, Table&);
  const std::pair<const char*, Measure> parts[] = {
      {"saved", &beside_saved_copies}, {"mirrors", &beside_mirrors_of_one}, {"parts", &beside_parts_of_one},
      {"ready", &beside_ready_arrays}, {"allocations", &allocations},       {"kernel", &freed_in_a_kernel},
      {"freed", &ten_freed_in_a_kernel},
      {"adopted", &beside_adopted_ranges}, {"bytes", &host_bytes_of_each},  {"evictions", &evictions}, {"tiles", &tiles}};
  const auto chosen = [&](const auto& named) { return *part == '\0' || std::strcmp(named.first, part) == 0; };
  if (std::none_of(std::begin(parts), std::end(parts), chosen)) {
    std::fputs(usage, stderr);
    return 1;
  }
  for (const std::size_t n : counts) {
    for (const auto& named : parts) {
      if (!chosen(named)) continue;
      named.second(n, table);
      finalize();
    }
    std::fprintf(stderr, "%zu arrays: done\n", n);
  }
  table.print(counts);
  return 0;
}
