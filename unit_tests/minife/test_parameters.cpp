// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/parameters.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace minife;

CommandLine parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "minife");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLine, DefaultsToTheKnownCase) {
  const CommandLine c = parse({});
  EXPECT_FALSE(c.finished);
  EXPECT_EQ(c.parameters.elements, (Index3{10, 10, 10}));
  EXPECT_EQ(c.parameters.max_iterations, 200);
  EXPECT_EQ(c.parameters.variant, Variant::semcache);
  EXPECT_EQ(c.parameters.solver, Solver::cg);
}

TEST(CommandLine, UnderstandsBothSpellings) {
  const CommandLine c = parse({"nx=3", "--ny", "4", "nz=5", "verify_solution=1", "--variant", "naive", "solver=belos"});
  EXPECT_EQ(c.parameters.elements, (Index3{3, 4, 5}));
  EXPECT_TRUE(c.parameters.verify);
  EXPECT_EQ(c.parameters.variant, Variant::naive);
  EXPECT_EQ(c.parameters.solver, Solver::belos);
}

TEST(CommandLine, MissingEdgesFollowTheOneBefore) {
  EXPECT_EQ(parse({"nx=3"}).parameters.elements, (Index3{3, 3, 3}));
  EXPECT_EQ(parse({"nx=3", "ny=4"}).parameters.elements, (Index3{3, 4, 4}));
  EXPECT_EQ(parse({"ny=4"}).parameters.elements, (Index3{10, 4, 4}));
  EXPECT_EQ(parse({"nz=4"}).parameters.elements, (Index3{10, 10, 4}));
}

TEST(CommandLine, ExplainsMistakes) {
  for (const char* wrong : {"nx=0", "nx=-1", "nx=ten", "--variant=fast", "--solver=fast", "--nosuch", "--max-iterations=0", "nx=99999999"}) {
    const CommandLine c = parse({wrong});
    EXPECT_TRUE(c.finished) << wrong;
    EXPECT_EQ(c.exit_code, 2) << wrong;
    EXPECT_NE(c.text.find("--help"), std::string::npos) << c.text;
  }
}

TEST(CommandLine, OnlyVariantSemcacheComputesElsewhere) {
  EXPECT_EQ(parse({"nx=3"}).parameters.device, 0u);
  EXPECT_EQ(parse({"--device", "3"}).parameters.device, 3u);
  EXPECT_FALSE(parse({"--device=0", "--variant=manual"}).finished);
  for (const std::vector<const char*>& wrong : {std::vector<const char*>{"--device=1", "--variant=manual"},
                                               {"--device=1", "--solver=belos"},
                                               {"--device=-1"},
                                               {"--beside-home=3"},
                                               {"--beside-home=0", "--device=1"},
                                               {"--beside-home=3", "--device=1", "--report=x.json"},
                                               {"--beside-home=3", "--device=1", "--solves=2"},
                                               {"--solves=0"}}) {
    const CommandLine c = parse(wrong);
    EXPECT_TRUE(c.finished) << wrong.front();
    EXPECT_EQ(c.exit_code, 2) << wrong.front();
    EXPECT_NE(c.text.find(std::string(wrong.front()).substr(0, 8)), std::string::npos) << c.text;
    EXPECT_NE(c.text.find("--help"), std::string::npos) << c.text;
  }
  EXPECT_EQ(parse({"--device=1", "--beside-home=3"}).parameters.beside_home, 3);
  EXPECT_EQ(parse({"--solves=3"}).parameters.solves, 3);
}

TEST(CommandLine, ATimelineIsComparedWhereItHasAFile) {
  ASSERT_EQ(unsetenv("SEMCACHE_TRACE"), 0);
  const CommandLine without = parse({"--beside-trace=3"});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_NE(without.text.find("--beside-trace 3 writes timelines, and SEMCACHE_TRACE names no file"), std::string::npos) << without.text;
  ASSERT_EQ(setenv("SEMCACHE_TRACE", "t.json", 1), 0);
  EXPECT_EQ(parse({"--beside-trace=3"}).parameters.beside_trace, 3);
  for (const std::vector<const char*>& wrong : {std::vector<const char*>{"--beside-trace=0"},
                                               {"--beside-trace=3", "--variant=manual"},
                                               {"--beside-trace=3", "--solver=kernels"},
                                               {"--beside-trace=3", "--report=x.json"},
                                               {"--beside-trace=3", "--solves=2"},
                                               {"--beside-trace=3", "--device=1", "--beside-home=3"}}) {
    EXPECT_EQ(parse(wrong).exit_code, 2) << wrong.back();
  }
  EXPECT_FALSE(parse({"--beside-trace=3", "--device=1"}).finished);
  ASSERT_EQ(unsetenv("SEMCACHE_TRACE"), 0);
}

TEST(CommandLine, OnlySolverKernelsComputesOnSeveralDevices) {
  EXPECT_EQ(parse({}).parameters.devices_per_rank, 1);
  const CommandLine c = parse({"--solver=kernels", "devices-per-rank=4"});
  EXPECT_FALSE(c.finished) << c.text;
  EXPECT_EQ(c.parameters.solver, Solver::kernels);
  EXPECT_EQ(c.parameters.devices_per_rank, 4);
  EXPECT_FALSE(parse({"--devices-per-rank=1", "--variant=manual"}).finished);
  for (const std::vector<const char*>& wrong : {std::vector<const char*>{"--devices-per-rank=2"},
                                               {"--devices-per-rank=2", "--solver=belos"},
                                               {"--devices-per-rank=0", "--solver=kernels"},
                                               {"--devices-per-rank=17", "--solver=kernels"}}) {
    const CommandLine refused = parse(wrong);
    EXPECT_TRUE(refused.finished) << wrong.front();
    EXPECT_EQ(refused.exit_code, 2) << wrong.front();
    EXPECT_NE(refused.text.find("--devices-per-rank"), std::string::npos) << refused.text;
  }
  EXPECT_TRUE(parse({"--device=1", "--solver=kernels"}).finished);
}

TEST(CommandLine, HelpIsNoMistake) {
  const CommandLine c = parse({"--help"});
  EXPECT_TRUE(c.finished);
  EXPECT_EQ(c.exit_code, 0);
  EXPECT_NE(c.text.find("--variant"), std::string::npos);
}

}  // namespace
