// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// gemm_chain: what the copies of a chain of products cost, placed by hand, at every call, and by SemCache in front of the same BLAS calls.
#include "gemm_chain.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <fstream>

int main(int argc, char** argv) {
  using namespace gemm_chain;
  Options o;
  bool quiet = false;
  std::string runner = SEMCACHE_RUN;
  CLI::App app("C = AB, D = BC, E = CD of n x n matrices, then the host reads each page of E", "gemm_chain");
  app.add_option("--variant", o.variant,
                 "cpu: BLAS on the host; write-back, write-through: the same under semcache-run; hand-tuned, hand-tuned-overlapped: cuBLAS with copies "
                 "placed by hand, on page-locked memory; hand-tuned-pageable: with plain copies, on memory from malloc; copy-every-call: cuBLAS with "
                 "three copies a call; page: cuBLAS, and what is missing crosses page by page; cublasxt: cuBLASXt, on memory from malloc")
      ->check(CLI::IsMember({"cpu", "write-back", "write-through", "hand-tuned", "hand-tuned-overlapped", "hand-tuned-pageable", "copy-every-call",
                             "page", "cublasxt"}))
      ->capture_default_str();
  app.add_option("--n", o.n, "rows and columns")->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 16))->capture_default_str();
  app.add_option("--rounds", o.rounds, "how often the chain is computed")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_flag("--rewrite", o.rewrite, "the host writes A and B anew before each round");
  app.add_flag("--start", o.start,
               "make a small product before the clock starts, and state its seconds: they have the start of the device and of its libraries");
  app.add_flag("--verify", o.verify, "check E; too large an error makes the program fail");
  const auto* const block = app.add_option("--block", o.block, "of cublasxt: rows and columns of a block")
                                ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 16))->capture_default_str();
  const auto* const pinning = app.add_option("--pinning", o.pinning, "of cublasxt: each call page-locks its operands, or none does, or all matrices are "
                                             "page-locked once, before the clock starts")
                                  ->check(CLI::IsMember({"none", "per-call", "once"}))->capture_default_str();
  app.add_option("--report", o.report, "write the figures to this file, as JSON");
  app.add_option("--runner", runner, "where semcache-run is")->capture_default_str();
  app.add_flag("--quiet", quiet, "print nothing");
  try {
    app.parse(argc, argv);
    if (o.variant != "cublasxt" && block->count() + pinning->count() > 0) {
      throw CLI::ValidationError("--block and --pinning are options of --variant cublasxt");
    }
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    const bool by_semcache = o.variant == "write-back" || o.variant == "write-through";
    const auto make = [&o] {
      if (o.variant == "cublasxt") {
        return make_cublasxt(o.block, o.pinning == "none" ? Pinning::none : o.pinning == "once" ? Pinning::once : Pinning::per_call);
      }
      return o.variant == "cpu" ? make_plain() : make_by_hand(o.variant);
    };
    const Outcome out = by_semcache ? run_under_semcache(o, runner) : run_here(o, make);
    const double matrix = static_cast<double>(o.n) * static_cast<double>(o.n) * sizeof(double);
    const bool right = out.error <= tolerance(o.n);  // false for NaN
    if (!quiet) {
      std::printf("gemm_chain, n = %lld, variant %s on %s\n", static_cast<long long>(o.n), o.variant.c_str(), out.device.c_str());
      if (out.moved) {
        std::printf("matrices to the device %.3f, to the host %.3f\n", static_cast<double>(out.moved->to_device) / matrix,
                    static_cast<double>(out.moved->to_host) / matrix);
      }
      if (out.device != "emulated" && o.start) std::printf("start %.6f s\n", out.start_seconds);
      if (out.device != "emulated") std::printf("first round %.6f s, last round %.6f s\n", out.seconds.front(), out.seconds.back());
      if (o.verify) std::printf("verified: %s, error %.3e (at most %.1e)\n", right ? "yes" : "NO", out.error, tolerance(o.n));
    }
    if (!o.report.empty()) {
      std::ofstream file(o.report);
      file << to_json(o, out);
      file.close();
      if (!file) throw std::runtime_error("the report cannot be written to '" + o.report + "'");
    }
    return o.verify && !right ? 1 : 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gemm_chain: %s\n", e.what());
    return 2;
  }
}
