// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Compares Belos' solvers on SemCache's node and on the node that the installed Tpetra was built for. Both solve the same
/// problem, in turns. On hosts both compute with the same processors, so the ratio shows the cost of the cache (and of missing
/// libraries).
#include <semcache/tpetra.hpp>

#include <BelosBlockCGSolMgr.hpp>
#include <BelosBlockGmresSolMgr.hpp>
#include <BelosLinearProblem.hpp>
#include <BelosPseudoBlockCGSolMgr.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_Map.hpp>
#include <Tpetra_MultiVector.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using Scalar = Tpetra::MultiVector<>::scalar_type;
using Local = Tpetra::Map<>::local_ordinal_type;
using Global = Tpetra::Map<>::global_ordinal_type;
using StockNode = Kokkos::Compat::KokkosSerialWrapperNode;
using Clock = std::chrono::steady_clock;
using Teuchos::RCP;
using Teuchos::rcp;

template <class Node>
class Problem {
 public:
  using Map = Tpetra::Map<Local, Global, Node>;
  using Matrix = Tpetra::CrsMatrix<Scalar, Local, Global, Node>;
  using MultiVector = Tpetra::MultiVector<Scalar, Local, Global, Node>;
  using Operator = Tpetra::Operator<Scalar, Local, Global, Node>;

  Problem(Global side, int columns)
      : map_(rcp(new Map(side * side * side, 0, Tpetra::getDefaultComm()))),
        matrix_(laplace(side)),
        x_(rcp(new MultiVector(map_, columns))),
        b_(rcp(new MultiVector(map_, columns))) {
    MultiVector exact(map_, columns);
    exact.randomize();
    matrix_->apply(exact, *b_);
  }

  struct Outcome {
    int iterations;
    double seconds_per_iteration;
  };
  template <template <class, class, class> class Solver>
  Outcome solve(const RCP<Teuchos::ParameterList>& parameters) {
    x_->putScalar(0);
    const auto problem = rcp(new Belos::LinearProblem<Scalar, MultiVector, Operator>(matrix_, x_, b_));
    problem->setProblem();
    Solver<Scalar, MultiVector, Operator> solver(problem, parameters);
    Tpetra::getDefaultComm()->barrier();
    const auto start = Clock::now();
    solver.solve();
    typename Node::execution_space().fence();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return {solver.getNumIters(), seconds / std::max(1, solver.getNumIters())};
  }

 private:
  RCP<const Matrix> laplace(Global side) const {
    const auto matrix = rcp(new Matrix(map_, 7));
    for (std::size_t row = 0; row < map_->getNodeNumElements(); ++row) {
      const Global g = map_->getGlobalElement(static_cast<Local>(row));
      const Global at[] = {g % side, g / side % side, g / side / side}, step[] = {1, side, side * side};
      std::vector<Global> columns{g};
      std::vector<Scalar> values{6};
      for (int d = 0; d < 3; ++d) {
        if (at[d] > 0) columns.push_back(g - step[d]);
        if (at[d] < side - 1) columns.push_back(g + step[d]);
      }
      values.resize(columns.size(), -1);
      matrix->insertGlobalValues(g, static_cast<Local>(columns.size()), values.data(), columns.data());
    }
    matrix->fillComplete();
    return matrix;
  }

  RCP<const Map> map_;
  RCP<const Matrix> matrix_;
  RCP<MultiVector> x_, b_;
};

struct Settings {
  Global side = 40;
  int columns = 4, rounds = 11, iterations = 60;
};

template <template <class, class, class> class Solver>
void compare(const char* name, const Settings& settings, int columns, int block) {
  const auto parameters = rcp(new Teuchos::ParameterList);
  parameters->set("Maximum Iterations", settings.iterations);
  parameters->set("Convergence Tolerance", 1e-8);
  parameters->set("Verbosity", int(Belos::Errors));
  if (block > 1) parameters->set("Block Size", block);
  Problem<StockNode> stock(settings.side, columns);
  Problem<semcache::TpetraNode> ours(settings.side, columns);
  std::vector<double> times, ratios;
  int iterations[2] = {};
  for (int round = 0; round <= settings.rounds; ++round) {
    const auto s = stock.template solve<Solver>(parameters);
    const auto o = ours.template solve<Solver>(parameters);
    iterations[0] = s.iterations;
    iterations[1] = o.iterations;
    if (round == 0) continue;  // the first round includes the costs of first uses
    times.push_back(o.seconds_per_iteration);
    ratios.push_back(o.seconds_per_iteration / s.seconds_per_iteration);
  }
  std::sort(times.begin(), times.end());
  std::sort(ratios.begin(), ratios.end());
  const std::size_t n = ratios.size();
  if (Tpetra::getDefaultComm()->getRank() == 0)
    std::printf("%-16s %d columns  iterations %d and %d  %10.1f us each  ours / stock %7.3f [%7.3f,%7.3f]\n", name,
                columns, iterations[0], iterations[1], times[n / 2] * 1e6, ratios[n / 2], ratios[n / 4],
                ratios[n * 3 / 4]);
}

template <class S, class MV, class OP>
using PseudoBlockCG = Belos::PseudoBlockCGSolMgr<S, MV, OP>;
template <class S, class MV, class OP>
using BlockCG = Belos::BlockCGSolMgr<S, MV, OP>;
template <class S, class MV, class OP>
using BlockGmres = Belos::BlockGmresSolMgr<S, MV, OP>;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Belos on semcache::TpetraNode against the installed Tpetra's own node"};
  Settings settings;
  app.add_option("--side", settings.side, "of the cube, in rows")->check(CLI::Range(2, 1000))->capture_default_str();
  app.add_option("--columns", settings.columns)->check(CLI::Range(2, 100))->capture_default_str();
  app.add_option("--rounds", settings.rounds)->check(CLI::Range(3, 1001))->capture_default_str();
  app.add_option("--iterations", settings.iterations, "at most")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Tpetra::ScopeGuard guard(&argc, &argv);
  compare<PseudoBlockCG>("CG", settings, 1, 1);
  compare<PseudoBlockCG>("pseudo-block CG", settings, settings.columns, 1);
  compare<BlockCG>("block CG", settings, settings.columns, settings.columns);
  compare<BlockGmres>("GMRES", settings, 1, 1);
  return 0;
}
