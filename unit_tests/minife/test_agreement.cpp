// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// A report of minife (MINIFE_REPORT names the file) against the same solve in plain loops on the host: what any two
/// kinds of device must agree on.
#include "reference_solve.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>

namespace {

using minife::testing::Ensemble;

TEST(Agreement, TheDevicesResidualsAreTheHosts) {
  const char* const path = std::getenv("MINIFE_REPORT");
  ASSERT_NE(path, nullptr) << "MINIFE_REPORT must name a report";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  const nlohmann::json report = nlohmann::json::parse(file);
  const auto elements = report.at("elements").get<minife::Index3>();
  const auto device = report.at("residual_history").get<std::vector<double>>();

  const std::vector<double> host =
      residual_history(Ensemble(elements, report.at("ranks").get<int>()));

  EXPECT_NEAR(static_cast<double>(device.size()), static_cast<double>(host.size()), 2);
  std::size_t compared = 0;
  for (; compared < host.size() && host[compared] > 1e-6 * host[0]; ++compared) {
    ASSERT_LT(compared, device.size());
    // Measured by the first norm. This system comes close to a breakdown after ten updates: by their own norm, residuals
    // differ by a half after fourteen if only the order of summation does. Before that they agree by their own norm, too.
    const double scale = compared < 10 ? host[compared] : host[0];
    ASSERT_NEAR(device[compared], host[compared], 1e-6 * scale) << "after " << compared << " updates";
  }
  EXPECT_GT(compared, 10u);
}

}  // namespace
