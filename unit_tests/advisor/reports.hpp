// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace semcache::test {

using Json = nlohmann::json;

inline std::string content_of(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A file name of this process that no file has, in the folder of the tests.
inline std::string fresh_name(const std::string& end) {
  static int number = 0;
  std::string name = "advisor-" + std::to_string(::getpid()) + "-" + std::to_string(++number) + end;
  std::remove(name.c_str());
  return name;
}

/// Reads a report and removes its file.
inline Json take_report(const std::string& file) {
  const std::string text = content_of(file);
  EXPECT_FALSE(text.empty()) << "there is no report " << file;
  std::remove(file.c_str());
  return Json::parse(text, nullptr, false);
}

/// Returns the sum of bytes or counts over the findings of a kind, of all names or of one destination.
inline std::uint64_t sum_of(const Json& report, const std::string& what, const char* key, const std::string& to = {}) {
  std::uint64_t sum = 0;
  for (const Json& f : report["advisor"]["findings"]) {
    if (f["what"] == what && (to.empty() || f["to"] == to)) sum += f[key].get<std::uint64_t>();
  }
  return sum;
}

}  // namespace semcache::test
