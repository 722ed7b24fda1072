// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Solves the same system by Tpetra::CrsMatrix and Belos' PseudoBlockCG: `semcache` on SemCache's node, `manual` on Tpetra's own
/// serial node, whose device is the host.
#include <minife/assembly.hpp>
#include <minife/cg_loop.hpp>
#include <minife/mpi_support.hpp>
#include <minife/solver.hpp>
#include <minife/statistics_tally.hpp>

#include <semcache/tpetra.hpp>

#include <BelosLinearProblem.hpp>
#include <BelosPseudoBlockCGSolMgr.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_Import.hpp>
#include <Tpetra_Map.hpp>
#include <Tpetra_MultiVector.hpp>
#include <Tpetra_Operator.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace minife {
namespace {

using Local = Tpetra::Map<>::local_ordinal_type;
using Global = Tpetra::Map<>::global_ordinal_type;
using StockNode = Kokkos::Compat::KokkosSerialWrapperNode;
using Teuchos::RCP;
using Teuchos::rcp;

static_assert(std::is_same_v<Local, std::int32_t>, "LocalGrid's columns are Tpetra's local ordinals");

constexpr double tolerance = 1e-10;

template <class Node>
using MapOf = Tpetra::Map<Local, Global, Node>;
template <class Node>
using MatrixOf = Tpetra::CrsMatrix<double, Local, Global, Node>;
template <class Node>
using VectorsOf = Tpetra::MultiVector<double, Local, Global, Node>;
template <class Node>
using OperatorOf = Tpetra::Operator<double, Local, Global, Node>;
template <class Node>
using SolverOf = Belos::PseudoBlockCGSolMgr<double, VectorsOf<Node>, OperatorOf<Node>>;

/// The matrix, which calls a function of the caller before each product.
template <class Node>
class WatchedMatrix : public OperatorOf<Node> {
 public:
  explicit WatchedMatrix(RCP<const MatrixOf<Node>> matrix) : matrix_(std::move(matrix)) {}

  void before_product(std::function<void()> f) { before_product_ = std::move(f); }
  [[nodiscard]] int products() const noexcept { return products_; }

  RCP<const MapOf<Node>> getDomainMap() const override { return matrix_->getDomainMap(); }
  RCP<const MapOf<Node>> getRangeMap() const override { return matrix_->getRangeMap(); }
  void apply(const VectorsOf<Node>& x, VectorsOf<Node>& y, Teuchos::ETransp mode, double alpha,
             double beta) const override {
    if (before_product_) before_product_();
    ++products_;
    matrix_->apply(x, y, mode, alpha, beta);
  }

 private:
  RCP<const MatrixOf<Node>> matrix_;
  std::function<void()> before_product_;
  mutable int products_ = 0;
};

/// LocalGrid's numbering as Tpetra's maps: the rows in LocalGrid's order, then the received nodes, rank by rank. The global
/// number of a node is its place in the mesh.
template <class Node>
struct Maps {
  RCP<const MapOf<Node>> rows;
  RCP<const MapOf<Node>> columns;

  Maps(const LocalGrid& grid, MPI_Comm comm) {
    const RCP<const Teuchos::Comm<int>> ranks = rcp(new Teuchos::MpiComm<int>(comm));
    const auto global = [&](const Index3& node) { return static_cast<Global>(grid.mesh_nodes().position(node)); };
    std::vector<Global> ids;
    ids.reserve(static_cast<std::size_t>(grid.rows()) + static_cast<std::size_t>(grid.externals()));
    grid.for_each_row([&](const Index3& node) { ids.push_back(global(node)); });
    rows = rcp(new MapOf<Node>(static_cast<Tpetra::global_size_t>(grid.total_rows()),
                               Teuchos::ArrayView<const Global>(ids.data(), grid.rows()), 0, ranks));
    for (const Neighbour& n : grid.neighbours()) {
      for_each(n.receive, [&](const Index3& node) { ids.push_back(global(node)); });
    }
    const auto unknown = Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid();
    columns = rcp(new MapOf<Node>(unknown, Teuchos::ArrayView<const Global>(ids), 0, ranks));
  }
};

/// The system that the host assembles. Tpetra copies it.
struct HostSystem {
  std::vector<double> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> offsets;
  std::vector<double> rhs;

  explicit HostSystem(const SolveRequest& request)
      : values(static_cast<std::size_t>(request.grid.nonzeros())),
        columns(values.size()),
        offsets(static_cast<std::size_t>(request.grid.rows()) + 1),
        rhs(offsets.size() - 1) {
    // Tpetra finds the nodes that are to be sent itself, so this list is not used.
    std::vector<std::int32_t> send_entries(static_cast<std::size_t>(request.grid.sent_entries()));
    assemble(request.grid,
             SystemArrays<std::int64_t>{values.data(), columns.data(), offsets.data(), rhs.data(), send_entries.data()},
             report_assembly, &request.progress);
  }
};

template <class Node>
struct System {
  RCP<MatrixOf<Node>> matrix;
  RCP<VectorsOf<Node>> solution;
  RCP<VectorsOf<Node>> rhs;

  explicit System(const SolveRequest& request) {
    const Maps<Node> maps(request.grid, request.comm);
    const HostSystem host(request);
    constexpr std::size_t entries_in_a_row = 27;
    matrix = rcp(new MatrixOf<Node>(maps.rows, maps.columns, entries_in_a_row));
    for (Local row = 0; row < request.grid.rows(); ++row) {
      const auto begin = host.offsets[static_cast<std::size_t>(row)];
      const auto count = static_cast<Local>(host.offsets[static_cast<std::size_t>(row) + 1] - begin);
      matrix->insertLocalValues(row, count, host.values.data() + begin, host.columns.data() + begin);
    }
    matrix->fillComplete(maps.rows, maps.rows);
    solution = rcp(new VectorsOf<Node>(maps.rows, 1));
    rhs = rcp(new VectorsOf<Node>(maps.rows, 1));
    const auto view = rhs->getLocalViewHost(Tpetra::Access::OverwriteAll);
    std::copy(host.rhs.begin(), host.rhs.end(), view.data());
  }
};

RCP<Teuchos::ParameterList> parameters_for(int max_iterations) {
  const auto list = rcp(new Teuchos::ParameterList);
  list->set("Maximum Iterations", max_iterations);
  list->set("Convergence Tolerance", tolerance);
  list->set("Implicit Residual Scaling", "None");
  list->set("Explicit Residual Scaling", "None");  // ignored by PseudoBlockCG of Trilinos 13.2, which has no explicit test
  list->set("Verbosity", static_cast<int>(Belos::Errors));
  return list;
}

/// Returns the counts so far. They are zero on the stock node, whose device is the host.
template <class Node>
Tally tally() {
  if constexpr (std::is_same_v<Node, StockNode>) {
    return {};
  } else {
    return tally_of_statistics();
  }
}

template <class Node>
SolveResult run(const SolveRequest& request) {
  const double start = seconds_now();
  SolveResult result;
  const System<Node> system(request);
  const auto matrix = rcp(new WatchedMatrix<Node>(system.matrix));
  const auto problem = rcp(new Belos::LinearProblem<double, VectorsOf<Node>, OperatorOf<Node>>(
      matrix, system.solution, system.rhs));
  if (!problem->setProblem()) throw std::logic_error("Belos finds the linear problem incomplete");
  SolverOf<Node> solver(problem, parameters_for(request.max_iterations));

  // PseudoBlockCG accepts no status test from its caller. Before each iteration it runs its own test, which computes the norm of
  // the residual, and each iteration makes one product. So the norm is read from the test before each product.
  matrix->before_product([&] {
    const double norm = solver.getResidualStatusTest()->getTestValue()->at(0);
    result.residual_history.push_back(norm);
    request.progress.iterating(static_cast<int>(result.residual_history.size()), request.max_iterations, norm);
  });
  typename Node::execution_space().fence();
  result.setup_seconds = maximum(seconds_now() - start, request.comm);

  const Tally before = tally<Node>();
  const double solve_start = seconds_now();
  solver.solve();
  typename Node::execution_space().fence();
  result.cg_seconds = maximum(seconds_now() - solve_start, request.comm);
  const Tally after = tally<Node>();
  result.cg.h2d = after.h2d - before.h2d;
  result.cg.d2h = after.d2h - before.d2h;
  result.cg.d2d = after.d2d - before.d2d;
  result.residual_history.push_back(solver.achievedTol());
  result.iterations = solver.getNumIters();
  result.products = matrix->products();

  {
    const auto view = system.solution->getLocalViewHost(Tpetra::Access::ReadOnly);
    request.inspect(view.data());
  }
  result.bytes = bytes_of<std::size_t>(request.grid);
  result.total = tally<Node>();
  return result;
}

}  // namespace

std::string why_belos_is_unavailable(Variant variant) {
  if (variant == Variant::semcache || variant == Variant::manual) return {};
  return std::string("--solver belos: --variant ") + name_of(variant) +
         " is one of the program's own solver. Choose semcache (our node of Tpetra) or manual (Tpetra's serial node), "
         "or --solver cg.";
}

SolveResult solve_belos(Variant variant, const SolveRequest& request) {
  switch (variant) {
    case Variant::semcache: return run<semcache::TpetraNode>(request);
    case Variant::manual: return run<StockNode>(request);
    default: throw std::invalid_argument(why_belos_is_unavailable(variant));
  }
}

}  // namespace minife
