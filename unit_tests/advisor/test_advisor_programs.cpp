// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// The advisor in stock Kokkos programs whose redundant copies are known.
#include <advisor/reports.hpp>

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace semcache::test {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string out, err;
  double seconds = 0;
};

/// Kokkos 4 warns of the variable that old versions need.
std::string without_deprecation(std::string text) {
  const std::size_t begin = text.find("Warning: environment variable 'KOKKOS_PROFILE_LIBRARY'");
  if (begin == std::string::npos) return text;
  const std::size_t end = text.find('\n', begin);
  return text.erase(begin, end == std::string::npos ? end : end + 1 - begin);
}

/// Runs a program by the shell. @param settings  variables before the command
Outcome run(const std::string& settings, const std::string& command) {
  const std::string out = fresh_name(".out"), err = fresh_name(".err");
  const int status = std::system((settings + " " + command + " > " + out + " 2> " + err).c_str());
  Outcome r;
  r.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  r.out = content_of(out);
  r.err = without_deprecation(content_of(err));
  std::remove(out.c_str());
  std::remove(err.c_str());
  return r;
}

/// Old versions of Kokkos know the first variable only; later ones warn of it, and want both to agree.
const std::string with_advisor = "KOKKOS_PROFILE_LIBRARY=" ADVISOR " KOKKOS_TOOLS_LIBS=" ADVISOR " SEMCACHE_ADVISOR_REPORT=";

Json report_of(const std::string& command, const std::string& settings = {}) {
  const std::string file = fresh_name(".json");
  const Outcome r = run(settings + " " + with_advisor + file, command);
  EXPECT_EQ(r.exit_code, 0) << command << ": " << r.out << r.err;
  return take_report(file);
}

struct Expected {
  std::uint64_t redundant_bytes, redundant, round_trips, restored, fresh, copies;
};

constexpr std::uint64_t array = 4096 * sizeof(double);

TEST(Advisor, FindsExactlyTheRedundantCopiesOfEachPattern) {
  const std::map<std::string, Expected> patterns = {
      {"automem", {0, 0, 0, 0, 0, 2}},
      {"nokernel", {array, 1, 1, 0, 0, 2}},
      {"readonly_const", {2 * array, 2, 1, 0, 0, 4}},
      {"readonly_writable", {array, 1, 1, 0, 0, 2}},
      {"multivars", {160 * array, 1, 1, 0, 0, 4}},
      {"privmem", {0, 0, 0, 0, 1, 2}},
      {"sparse_read", {0, 0, 0, 0, 0, 1}},
      {"six_reads", {5 * array, 5, 0, 0, 0, 6}},
      {"restore", {0, 0, 1, 1, 0, 2}},
      {"mirror_loop", {10 * array, 10, 10, 0, 0, 20}},
      {"layouts", {600 * sizeof(double), 1, 0, 0, 0, 2}},
      {"gaps", {0, 1, 0, 0, 0, 2}},  // the bytes are those of the whole span, whose end depends on Kokkos' version
  };
  for (const auto& [name, expected] : patterns) {
    SCOPED_TRACE(name);
    const Json report = report_of(STOCK_PATTERNS " " + name);
    std::uint64_t restored = 0;
    for (const Json& f : report["advisor"]["findings"]) {
      if (f["what"] == "round trip") restored += f["destination_had_changed"]["count"].get<std::uint64_t>();
    }
    const std::uint64_t bytes = name == "gaps" ? report["advisor"]["copies"]["bytes"].get<std::uint64_t>() / 2 : expected.redundant_bytes;
    EXPECT_EQ(sum_of(report, "redundant", "bytes"), bytes);
    EXPECT_EQ(sum_of(report, "redundant", "count"), expected.redundant);
    EXPECT_EQ(sum_of(report, "round trip", "count"), expected.round_trips);
    EXPECT_EQ(restored, expected.restored);
    EXPECT_EQ(sum_of(report, "fresh", "count"), expected.fresh);
    EXPECT_EQ(report["advisor"]["copies"]["count"], expected.copies);
    EXPECT_EQ(report["advisor"]["saves"]["certain"]["bytes"], bytes);
    EXPECT_EQ(report["advisor"]["not_examined"]["count"], 0);
  }
}

TEST(Advisor, NamesArraysStatementsAndKernels) {
  const Json report = report_of(STOCK_PATTERNS " multivars");

  const Json& findings = report["advisor"]["findings"];
  ASSERT_EQ(findings.size(), 2u);
  for (const Json& f : findings) {
    EXPECT_EQ(f["to"], "z_mirror");
    EXPECT_EQ(f["from"], "z");
    EXPECT_EQ(f["certainty"], "certain");
    EXPECT_EQ(f["of"]["count"], 1);
    const auto site = f["call_site"].get<std::string>();
    EXPECT_EQ(site.rfind("stock_patterns", 0), 0u) << site;
    // With debug information it is the function that the compiler has inlined.
    EXPECT_TRUE(site.find(" in (anonymous namespace)::multivars") != std::string::npos || site.find("download") != std::string::npos) << site;
  }
  EXPECT_EQ(findings[0]["kernels_between"], Json::array({"multivars"}));
  EXPECT_EQ(findings[0]["launches_between"], 1);
}

TEST(Advisor, SummaryIsOnStderrAndTheProgramsOutputIsItsOwn) {
  const Outcome alone = run("", STOCK_PATTERNS " six_reads");
  const Outcome watched = run(with_advisor + "''", STOCK_PATTERNS " six_reads");

  EXPECT_EQ(watched.out, alone.out);
  EXPECT_EQ(watched.exit_code, 0);
  EXPECT_NE(watched.err.find("certain, redundant: 163840 bytes, 5 of 6 copies, "), std::string::npos) << watched.err;
  EXPECT_NE(watched.err.find(", from a to a_mirror, at "), std::string::npos) << watched.err;
}

TEST(Advisor, OfMpiRanksTheFirstAlonePrintsASummary) {
  EXPECT_EQ(run("PMI_RANK=1 " + with_advisor + "''", STOCK_PATTERNS " six_reads").err, "");
}

TEST(Advisor, AnotherToolBehindItGetsEveryCallback) {
  const std::string list = "'" ADVISOR ";" OTHER_TOOL "'", file = fresh_name(".json");
  const Outcome r = run("KOKKOS_PROFILE_LIBRARY=" + list + " KOKKOS_TOOLS_LIBS=" + list + " SEMCACHE_ADVISOR_REPORT=" + file, STOCK_PATTERNS " six_reads");

  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_NE(r.err.find("other tool: 1 kernels six_reads, 6 copies begun, 6 ended"), std::string::npos) << r.err;
  const Json report = take_report(file);
  EXPECT_EQ(sum_of(report, "redundant", "count"), 5u);
}

/// The other tool announces within a callback that the destination is freed, of each of a hundred thousand views.
TEST(Advisor, AHundredThousandViewsBesideAToolThatFreesWithinCallbacks) {
  const std::string list = "'" ADVISOR ";" OTHER_TOOL "'", file = fresh_name(".json");
  const Outcome r =
      run("KOKKOS_PROFILE_LIBRARY=" + list + " KOKKOS_TOOLS_LIBS=" + list + " SEMCACHE_ADVISOR_REPORT=" + file, STOCK_PATTERNS " many_views");

  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_NE(r.err.find(" 200001 copies begun, 200001 ended"), std::string::npos) << r.err;
  const Json report = take_report(file);
  EXPECT_EQ(report["advisor"]["copies"]["count"], 200'001);
  EXPECT_EQ(sum_of(report, "redundant", "count"), 100'001u);
}

TEST(Advisor, AToolBehindItThatIsMissingIsOneLine) {
  const std::string list = "'" ADVISOR ";/no/such/tool.so'";
  const Outcome r = run("PMI_RANK=1 KOKKOS_PROFILE_LIBRARY=" + list + " KOKKOS_TOOLS_LIBS=" + list, STOCK_PATTERNS " six_reads");

  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.err.rfind("semcache: the advisor cannot load the tool behind it: /no/such/tool.so", 0), 0u) << r.err;
}

#ifdef MINIFE_STOCK
std::string minife(const std::string& variant, const std::string& file) {
  return MINIFE_STOCK " --nx 16 --verify --variant " + variant + " --report " + file;
}

bool is_upload(const Json& finding) {
  const auto to = finding["to"].get<std::string>();
  return to.size() < 5 || to.compare(to.size() - 5, 5, "_host") != 0;
}

TEST(Advisor, FindsTheRedundantUploadsOfANaiveMiniFE) {
  const std::string naive_file = fresh_name(".json"), manual_file = fresh_name(".json");
  const Json naive = report_of(minife("naive", naive_file)), manual = report_of(minife("manual", manual_file));
  const auto uploaded = [](const Json& r) { return r["transfers"]["h2d_bytes"].get<double>(); };
  const double avoidable = uploaded(take_report(naive_file)) - uploaded(take_report(manual_file));

  double found = 0;
  for (const Json& f : naive["advisor"]["findings"]) {
    if (f["what"] == "redundant" && is_upload(f)) found += f["bytes"].get<double>();
  }
  std::printf("redundant uploads: %.0f bytes; those of naive beyond manual's: %.0f bytes\n", found, avoidable);
  EXPECT_GT(avoidable, 0);
  EXPECT_NEAR(found / avoidable, 1, 0.01);
  EXPECT_EQ(manual["advisor"]["findings"], Json::array());
}

#ifdef TWO_RANKS
TEST(Advisor, FindsTheRedundantUploadsOfTwoRanks) {
  const auto run_both = [](const std::string& variant, double& uploaded) {
    const std::string file = fresh_name(".json"), advice = fresh_name("-%r.json");
    const Outcome r = run(with_advisor + advice, TWO_RANKS " " + minife(variant, file));
    EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
    uploaded = take_report(file)["transfers"]["h2d_bytes"].get<double>();  // of both ranks
    std::vector<Json> reports;
    for (const char* rank : {"0", "1"}) reports.push_back(take_report(advice.substr(0, advice.find("%r")) + rank + ".json"));
    return reports;
  };
  double by_naive = 0, by_manual = 0, found = 0;
  for (const Json& rank : run_both("naive", by_naive)) {
    for (const Json& f : rank["advisor"]["findings"]) {
      if (f["what"] == "redundant" && is_upload(f)) found += f["bytes"].get<double>();
    }
  }
  for (const Json& rank : run_both("manual", by_manual)) EXPECT_EQ(rank["advisor"]["saves"]["certain"]["count"], 0);

  std::printf("redundant uploads: %.0f bytes; those of naive beyond manual's: %.0f bytes\n", found, by_naive - by_manual);
  EXPECT_GT(by_naive, by_manual);
  EXPECT_NEAR(found / (by_naive - by_manual), 1, 0.01);
}
#endif
#endif

#ifdef SEMCACHE_PROGRAM
TEST(Advisor, DoesNotDisturbAProgramThatUsesSemCache) {
  const auto counts = [](const std::string& settings) {
    const std::string file = fresh_name(".json");
    const Outcome r = run(settings + "SEMCACHE_REPORT=" + file, SEMCACHE_PROGRAM " --size 65536");
    EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
    EXPECT_EQ(r.err.find("SEMCACHE_ADVISOR"), std::string::npos) << r.err;
    return take_report(file)["total"];
  };
  const std::string advised = fresh_name(".json");

  EXPECT_EQ(counts(with_advisor + advised + " "), counts(""));
  EXPECT_EQ(take_report(advised)["advisor"]["saves"]["certain"]["count"], 0);
}
#endif

}  // namespace
}  // namespace semcache::test
