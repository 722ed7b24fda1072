// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// blas_call_cost: how long the host takes for a call of dgemm_ whose operands lie on the device already, under semcache-run, beside a call of cuBLAS on
/// device memory. Kernels are not timed: calls return before they are done, and each round waits for them off the clock.
#include "gpu.hpp"
#include "host_gemm.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::int64_t n = 64;
  int matrices = 16, calls = 200, rounds = 101;
  std::string report, semcache_report;
};

struct Product {
  double *a, *b, *c;
};

/// Microseconds of a call, over one round.
template <class Call>
double per_call(const Options& o, const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < o.calls; ++i) call(i % o.matrices);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / o.calls;
}

double at(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

std::vector<Product> host_products(const Options& o, std::size_t bytes) {
  std::vector<Product> all;
  for (int i = 0; i <= o.matrices; ++i) {  // the last one is read
    Product p{};
    for (double** const matrix : {&p.a, &p.b, &p.c}) {
      *matrix = static_cast<double*>(std::malloc(bytes));
      if (*matrix == nullptr) throw std::bad_alloc();
      std::fill_n(*matrix, o.n * o.n, 0.5);
    }
    all.push_back(p);
  }
  return all;
}

Json run(const Options& o) {
  const char* const device = std::getenv("SEMCACHE_DEVICE");
  const bool emulated = device != nullptr && std::string(device) == "emulated";
  const std::size_t bytes = static_cast<std::size_t>(o.n * o.n) * sizeof(double);
  const std::vector<Product> products = host_products(o, bytes);
  const auto by_semcache = [&](int i) {
    const Product& p = products[static_cast<std::size_t>(i)];
    gemm_chain::host_gemm(o.n, o.n, p.a, p.b, p.c);
  };
  // Work of one thread is in order, so who has the last result has waited for all. Results that the host reads would be protected anew.
  const auto wait = [&] {
    by_semcache(o.matrices);
    if (*static_cast<volatile double*>(products.back().c) != 0.25 * static_cast<double>(o.n)) throw std::runtime_error("a result is wrong");
  };
  for (int i = 0; i < o.matrices; ++i) by_semcache(i);  // operands come to the device
  wait();
  std::unique_ptr<gemm_chain::Gpu> gpu;
  std::vector<Product> there;
  if (!emulated) {
    gpu = gemm_chain::make_cuda_gpu();
    for (int i = 0; i < o.matrices; ++i) {
      const Product& p = products[static_cast<std::size_t>(i)];
      there.push_back({gpu->allocate(bytes), gpu->allocate(bytes), gpu->allocate(bytes)});
      gpu->to_device_plainly(there.back().a, p.a, bytes);
      gpu->to_device_plainly(there.back().b, p.b, bytes);
    }
  }
  const auto by_hand = [&](int i) {
    const Product& p = there[static_cast<std::size_t>(i)];
    gpu->gemm(o.n, o.n, p.a, p.b, p.c, 0);
  };
  std::vector<double> of_semcache, of_cublas, differences;
  const auto time_semcache = [&] {
    of_semcache.push_back(per_call(o, by_semcache));
    wait();
  };
  const auto time_cublas = [&] {
    if (emulated) return;
    of_cublas.push_back(per_call(o, by_hand));
    gpu->wait(0);
  };
  for (int round = 0; round < o.rounds; ++round) {
    if (round % 2 == 0) time_semcache();
    time_cublas();
    if (round % 2 != 0) time_semcache();
    if (!emulated) differences.push_back(of_semcache.back() - of_cublas.back());
  }
  Json j{{"program", "blas_call_cost"}, {"device", emulated ? "emulated" : "cuda"}, {"n", o.n}, {"matrices", o.matrices}, {"calls", o.calls},
         {"rounds", o.rounds}};
  if (emulated) return j;  // it computes within the call
  j["semcache_us"] = of_semcache;
  j["cublas_us"] = of_cublas;
  j["more_us"] = {{"median", at(differences, 0.5)}, {"quartiles", {at(differences, 0.25), at(differences, 0.75)}}};
  return j;
}

/// Starts this program anew, under semcache-run.
[[noreturn]] void start_under(const std::string& runner, const Options& o, char** arguments) {
  std::string self(4096, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
  self.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  std::vector<std::string> words{runner, "--offload=always", "--malloc=4096"};
  if (!o.semcache_report.empty()) words.push_back("--report=" + o.semcache_report);
  words.push_back(self);
  for (char** argument = arguments + 1; *argument != nullptr; ++argument) words.emplace_back(*argument);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(runner.c_str(), pointers.data());
  throw std::runtime_error(runner + " cannot be run");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  std::string runner = SEMCACHE_RUN;
  CLI::App app("How long the host takes for a call of dgemm_ whose operands lie on the device, beside cuBLAS", "blas_call_cost");
  app.add_option("--n", o.n, "rows and columns, in blocks of at least a page")->check(CLI::Range(23, 4096))->capture_default_str();
  app.add_option("--matrices", o.matrices, "so many products, each with operands of its own")->check(CLI::Range(1, 4096))->capture_default_str();
  app.add_option("--calls", o.calls, "of a round; more than a stream takes would wait for kernels")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--rounds", o.rounds, "of each variant, in turn")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--report", o.report, "write the figures to this file, as JSON");
  app.add_option("--semcache-report", o.semcache_report, "write SemCache's report to this file");
  app.add_option("--runner", runner, "where semcache-run is")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    if (std::getenv("_SEMCACHE_BLAS_PROCESS") == nullptr) start_under(runner, o, argv);
    const Json figures = run(o);
    std::printf("blas_call_cost, n = %lld, %d products, %d rounds of %d calls on %s\n", static_cast<long long>(o.n), o.matrices, o.rounds, o.calls,
                figures.at("device").get<std::string>().c_str());
    if (figures.contains("more_us")) {
      const Json& more = figures.at("more_us");
      std::printf("a call: SemCache %.3f us, cuBLAS %.3f us, more %.3f us [%.3f, %.3f]\n", at(figures.at("semcache_us"), 0.5),
                  at(figures.at("cublas_us"), 0.5), more.at("median").get<double>(), more.at("quartiles")[0].get<double>(),
                  more.at("quartiles")[1].get<double>());
    } else {
      std::printf("an emulated device computes within the call, so there are no times\n");
    }
    if (o.report.empty()) return 0;
    std::ofstream file(o.report);
    file << figures.dump(2) << '\n';
    file.close();
    if (!file) throw std::runtime_error("the report cannot be written to '" + o.report + "'");
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "blas_call_cost: %s\n", e.what());
    return 2;
  }
}
