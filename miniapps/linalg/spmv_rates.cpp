// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// How fast a GPU multiplies sparse matrices by vectors: the kernel of packages/linalg and cuSPARSE, against the rate at which memory can be read.
#include "cusparse_matrix.hpp"
#include "read_kernels.hpp"

#include <semcache/base/error.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace linalg_miniapps {
namespace {

struct Options {
  std::int64_t n = 256, n27 = 200;
  std::int64_t read_mib = 4096;
  int repeats = 20;
};

/// A matrix on the host. Every row has the neighbours of a point of a cube.
struct HostMatrix {
  std::vector<std::int32_t> row_pointers, columns;
  std::vector<double> values;
};

/// @param is_27_point  all 26 neighbours, with the coefficients of trilinear elements, as miniFE has them inside its cube; else the six closest ones
HostMatrix make_matrix(std::int64_t n, bool is_27_point) {
  const std::int64_t reach = 3 * n - 2;  // points and neighbours in one direction
  const std::int64_t entries = is_27_point ? reach * reach * reach : 7 * n * n * n - 6 * n * n;
  if (entries > std::numeric_limits<std::int32_t>::max()) {
    throw semcache::ConfigurationError(std::string(is_27_point ? "--n27 " : "--n ") + std::to_string(n) + " gives " + std::to_string(entries) +
                                       " entries: there can be 2147483647. Choose a smaller cube");
  }
  constexpr double coefficients_7[] = {6, -1, 0, 0}, coefficients_27[] = {8.0 / 3, 0, -1.0 / 6, -1.0 / 12};  // by how many coordinates differ
  HostMatrix m;
  m.row_pointers.reserve(static_cast<std::size_t>(n * n * n + 1));
  m.columns.reserve(static_cast<std::size_t>(entries));
  m.values.reserve(static_cast<std::size_t>(entries));
  m.row_pointers.push_back(0);
  for (std::int64_t z = 0; z < n; ++z) {
    for (std::int64_t y = 0; y < n; ++y) {
      for (std::int64_t x = 0; x < n; ++x) {
        for (std::int64_t dz = -1; dz <= 1; ++dz) {
          for (std::int64_t dy = -1; dy <= 1; ++dy) {
            for (std::int64_t dx = -1; dx <= 1; ++dx) {
              const int differ = static_cast<int>(dx * dx + dy * dy + dz * dz);
              if (!is_27_point && differ > 1) continue;
              if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n || z + dz < 0 || z + dz >= n) continue;
              m.columns.push_back(static_cast<std::int32_t>(((z + dz) * n + y + dy) * n + x + dx));
              m.values.push_back((is_27_point ? coefficients_27 : coefficients_7)[differ]);
            }
          }
        }
        m.row_pointers.push_back(static_cast<std::int32_t>(m.columns.size()));
      }
    }
  }
  return m;
}

/// Returns the median time of a launch, in seconds.
double time_of(const std::function<void()>& launch, const Stream& stream, int launches) {
  struct TimedEvent {
    cudaEvent_t event = nullptr;
    TimedEvent() { LINALG_EXPECT(cudaEventCreate(&event)); }
    ~TimedEvent() { (void)cudaEventDestroy(event); }
  };
  const TimedEvent begin, end;
  std::vector<double> times;
  launch();
  for (int round = 0; round < 9; ++round) {
    LINALG_EXPECT(cudaEventRecord(begin.event, stream));
    for (int i = 0; i < launches; ++i) launch();
    LINALG_EXPECT(cudaEventRecord(end.event, stream));
    LINALG_EXPECT(cudaEventSynchronize(end.event));
    float milliseconds = 0;
    LINALG_EXPECT(cudaEventElapsedTime(&milliseconds, begin.event, end.event));
    times.push_back(1e-3 * static_cast<double>(milliseconds) / launches);
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4];
}

/// Returns bytes per second, of the best way to read.
double read_rate(const Options& o, const Stream& stream) {
  cudaDeviceProp properties{};
  LINALG_EXPECT(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  const std::int64_t pairs = o.read_mib << 16, elements = 2 * pairs;
  const DeviceArray<double> data(0, elements);
  launch_fill(stream, data.data(), static_cast<std::size_t>(elements));
  double best = std::numeric_limits<double>::infinity();
  std::string best_text;
  for (const Reading& r : readings(properties.multiProcessorCount)) {
    const std::int64_t threads = static_cast<std::int64_t>(r.blocks) * r.threads;
    const DeviceArray<double> sums(0, threads);
    const double seconds = time_of([&] { launch_read(stream, r, data.data(), static_cast<std::size_t>(pairs), sums.data()); }, stream, 3);
    std::vector<double> on_host(static_cast<std::size_t>(threads));
    LINALG_EXPECT(cudaMemcpyAsync(on_host.data(), sums.data(), on_host.size() * sizeof(double), cudaMemcpyDeviceToHost, stream));
    stream.wait();
    double sum = 0;
    for (const double s : on_host) sum += s;
    if (sum != static_cast<double>(elements)) {
      throw std::runtime_error("the read of " + std::to_string(elements) + " ones by " + to_string(r) + " has the sum " + std::to_string(sum));
    }
    if (seconds < best) {
      best = seconds;
      best_text = to_string(r);
    }
  }
  const double rate = static_cast<double>(elements) * sizeof(double) / best;
  std::printf("read: %lld MiB in %.1f us, %.1f GB/s, by %s\n", static_cast<long long>(o.read_mib), 1e6 * best, 1e-9 * rate, best_text.c_str());
  return rate;
}

/// Returns the largest error of sampled rows of y, as part of the sum of their products' sizes; NaN if one is no number.
double error_of(const HostMatrix& m, const std::vector<double>& x, const double* y, const Stream& stream) {
  const std::size_t rows = m.row_pointers.size() - 1;
  std::vector<double> result(rows);
  LINALG_EXPECT(cudaMemcpyAsync(result.data(), y, rows * sizeof(double), cudaMemcpyDeviceToHost, stream));
  stream.wait();
  double largest = 0;
  const std::size_t step = std::max<std::size_t>(1, rows / 100003);
  for (std::size_t sample = 0; sample < rows + step; sample += step) {
    const std::size_t row = std::min(sample, rows - 1);
    double sum = 0, scale = 0;
    for (auto e = static_cast<std::size_t>(m.row_pointers[row]); e < static_cast<std::size_t>(m.row_pointers[row + 1]); ++e) {
      const double product = m.values[e] * x[static_cast<std::size_t>(m.columns[e])];
      sum += product;
      scale += std::abs(product);
    }
    const double error = std::abs(result[row] - sum) / scale;
    if (!(error <= largest)) largest = error;
    if (error != error) break;
  }
  return largest;
}

template <class T>
DeviceArray<T> on_device(const std::vector<T>& host) {
  DeviceArray<T> device(0, static_cast<std::int64_t>(host.size()));
  LINALG_EXPECT(cudaMemcpy(device.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

/// Returns whether the results are right.
bool measure(const Options& o, bool is_27_point, double rate, const Stream& stream) {
  const std::int64_t n = is_27_point ? o.n27 : o.n;
  const HostMatrix m = make_matrix(n, is_27_point);
  const std::size_t rows = m.row_pointers.size() - 1;
  std::vector<double> x(rows);
  for (std::size_t i = 0; i < rows; ++i) x[i] = 1.0 + static_cast<double>(i % 17) / 17;
  const DeviceArray<std::int32_t> row_pointers = on_device(m.row_pointers), columns = on_device(m.columns);
  const DeviceArray<double> values = on_device(m.values), device_x = on_device(x), y(0, static_cast<std::int64_t>(rows));
  const DeviceRows a{y.size(), columns.size(), row_pointers.data(), columns.data(), values.data()};
  const double bytes = 12.0 * static_cast<double>(a.entries) + 4.0 * static_cast<double>(rows + 1) + 16.0 * static_cast<double>(rows);
  std::printf("%s matrix of %lld^3: %zu rows, %lld entries\n", is_27_point ? "27-point" : "7-point", static_cast<long long>(n), rows,
              static_cast<long long>(a.entries));

  struct Result {
    const char* name;
    double seconds, error;
  };
  std::vector<Result> results;
  const auto add_result = [&](const char* name, const std::function<void()>& launch) {
    LINALG_EXPECT(cudaMemsetAsync(y.data(), 0xff, rows * sizeof(double), stream));  // NaN
    const double seconds = time_of(launch, stream, o.repeats);
    results.push_back({name, seconds, error_of(m, x, y.data(), stream)});
  };
  add_result("packages/linalg", [&] { launch_spmv(stream, a, device_x.data(), y.data()); });
  CusparseMatrix matrix(a, device_x.data(), y.data(), stream);
  add_result("cuSPARSE", [&] { matrix.multiply(); });
  matrix.study();
  add_result("cuSPARSE, preprocessed", [&] { matrix.multiply(); });

  bool right = true;
  for (const Result& r : results) {
    const bool good = r.error <= 1e-14;  // false for NaN
    std::printf("  %-24s %9.1f us, %.3f of the read rate, %.3f times cuSPARSE's speed, error %.1e%s\n", r.name, 1e6 * r.seconds,
                bytes / (r.seconds * rate), results[1].seconds / r.seconds, r.error, good ? "" : ": WRONG");
    right = right && good;
  }
  return right;
}

int run(int argc, char** argv) {
  Options o;
  CLI::App app("rates of sparse matrix by vector on the first GPU: the kernel of packages/linalg, and cuSPARSE's default algorithm", "spmv_rates");
  const CLI::Range sides(std::int64_t{0}, std::int64_t{1024});
  app.add_option("--n", o.n, "side of the 7-point matrix's cube; 0: none")->check(sides)->capture_default_str();
  app.add_option("--n27", o.n27, "side of the 27-point matrix's cube; 0: none")->check(sides)->capture_default_str();
  app.add_option("--read-mib", o.read_mib, "memory that is read to find the read rate, in MiB")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  app.add_option("--repeats", o.repeats, "products in a row for each of nine times, of which the median counts")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    (void)expect_devices("this program", 1, 1);
    const Stream stream(0);
    const double rate = read_rate(o, stream);
    bool right = true;
    if (o.n > 0) right = measure(o, false, rate, stream) && right;
    if (o.n27 > 0) right = measure(o, true, rate, stream) && right;
    return right ? 0 : 1;
  } catch (const semcache::ConfigurationError& e) {
    std::fprintf(stderr, "spmv_rates: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "spmv_rates: %s\n", e.what());
    return 1;
  }
}

}  // namespace
}  // namespace linalg_miniapps

int main(int argc, char** argv) { return linalg_miniapps::run(argc, argv); }
