// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A library to preload: the wrappers that semcache-gen has written, on a GPU without a GPU. What they would tell cuBLAS is told the host's Fortran
// BLAS, whose routines have the same parameters. So the tests of the reference BLAS check what each interface makes of its arguments.
#include "call.hpp"
#include "cublas.hpp"

#include <dlfcn.h>

#include <cctype>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

thread_local bool within = false;
std::map<std::string, int> calls;

/// The letters behind cuBLAS' codes, one string for each code that a routine begins with, or has behind `side`.
std::string letters_of(const std::string& routine) {
  const std::string kind = routine.substr(1);
  const auto ends = [&](const char* text) { return kind.find(text) != std::string::npos; };
  if (kind == "gemm") return "tt";
  if (kind == "gemv" || kind == "gbmv") return "t";
  if (kind == "trmm" || kind == "trsm") return "sutd";
  if (kind == "symm" || kind == "hemm") return "su";
  if (kind == "syrk" || kind == "herk" || kind == "syr2k" || kind == "her2k") return "ut";
  if (kind[0] == 't') return "utd";
  if (ends("sy") || ends("he") || ends("sp") || ends("hp") || ends("sb") || ends("hb")) return "u";
  return "";
}
char letter(char kind, int code) {
  const std::map<char, const char*> letters = {{'t', "NTC"}, {'u', "LU"}, {'s', "LR"}, {'d', "NU"}};
  return letters.at(kind)[code];
}

using Any = void (*)();
template <class R>
R call(Any f, const std::vector<void*>& p) {
  const auto at = [&](std::size_t i) { return i < p.size() ? p[i] : nullptr; };
  using F = R(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*);
  return reinterpret_cast<F*>(f)(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11), at(12), at(13));
}

/// Calls a function, and writes what it returns to the address.
void compute_result(const std::string& routine, Any f, const std::vector<void*>& p, void* result) {
  const char kind = routine[0];
  if (kind == 'i') {
    const int index = call<int>(f, p);
    std::memcpy(result, &index, sizeof index);
  } else if (kind == 's') {
    const auto number = call<float>(f, p);
    std::memcpy(result, &number, sizeof number);
  } else if (kind == 'd') {
    const auto number = call<double>(f, p);
    std::memcpy(result, &number, sizeof number);
  } else if (kind == 'c') {
    const auto number = call<std::complex<float>>(f, p);
    std::memcpy(result, &number, sizeof number);
  } else {
    const auto number = call<std::complex<double>>(f, p);
    std::memcpy(result, &number, sizeof number);
  }
}

/// cuBLAS reads and writes a complex number at once, so its place must be a multiple of its size. Coefficients and results are the addresses without
/// a leading dimension or an increment behind them.
void expect_aligned(const std::string& routine, const std::vector<semcache::linalg::Argument>& arguments) {
  const std::size_t unit = routine[0] == 'i' ? 1 : routine.find('z') < 2 ? 16 : routine.find('c') < 2 ? 8 : 1;  // an index is an integer
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_address || (i + 1 < arguments.size() && !arguments[i + 1].is_address)) continue;
    if (reinterpret_cast<std::uintptr_t>(arguments[i].at) % unit != 0) std::fprintf(stderr, "%s: argument %zu is not aligned\n", routine.c_str(), i);
  }
}

struct Report {
  ~Report() {
    for (const auto& [name, count] : calls) std::fprintf(stderr, "%s %d\n", name.c_str(), count);
  }
} report;

}  // namespace

namespace semcache::linalg {

void CublasRoutine::compute(const char* name, const std::vector<Argument>& arguments) {
  ++calls[name];
  std::string routine(name + std::strlen("cublas"));
  routine.resize(routine.size() - std::strlen("_v2"));
  for (char& c : routine) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto f = reinterpret_cast<Any>(::dlsym(RTLD_NEXT, (routine + "_").c_str()));
  if (f == nullptr) std::abort();
  expect_aligned(routine, arguments);
  const std::string letters = letters_of(routine);
  std::vector<Argument> passed = arguments;
  if (routine.substr(1) == "trmm") passed.erase(passed.end() - 2, passed.end());  // cuBLAS has an operand for the result
  std::vector<char> chosen(letters.size());
  std::vector<void*> p;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    if (i < letters.size()) {
      chosen[i] = letter(letters[i], passed[i].number);
      p.push_back(&chosen[i]);
    } else {
      p.push_back(passed[i].is_address ? const_cast<void*>(passed[i].at) : &passed[i].number);
    }
  }
  const bool returns = routine.find("dot") != std::string::npos || routine.find("nrm2") != std::string::npos ||
                       routine.find("asum") != std::string::npos || routine.find("amax") != std::string::npos;
  if (!returns) return call<void>(f, p);
  void* const result = p.back();
  p.pop_back();
  compute_result(routine, f, p, result);
}

}  // namespace semcache::linalg

namespace semcache::blas {

bool is_within_call() noexcept { return within; }
void enter_passed_through(Routine&, Verdict) noexcept { within = true; }
void enter_routine() noexcept { within = true; }
void leave_passed_through() noexcept { within = false; }
bool enter_small(Routine&, double, double) noexcept { return false; }

void carry_out(const Call& call, const Routines& routines) {
  within = true;
  if (call.refused == Verdict::on_device) {
    const void* at[most_operands] = {};
    for (std::size_t i = 0; i < call.count; ++i) at[i] = call.operands[i].address;
    routines.on_gpu({}, at);
  } else {
    if (call.refused == Verdict::wrong_arguments) within = false;
    routines.on_host(call.at.data());
  }
  within = false;
}

}  // namespace semcache::blas
