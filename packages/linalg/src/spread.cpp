// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/linalg/spread.hpp>

#include <semcache/tasks/lanes.hpp>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

namespace semcache::linalg {

namespace {

struct Kept {
  std::mutex mutex;
  std::optional<Options> options;
};
Kept& kept() {
  static Kept k;
  return k;
}

Options from_environment() {
  Options o;
  const char* const text = std::getenv("SEMCACHE_SPREAD");
  if (text != nullptr) o.spread = policy::spread_of(text);
  return o;
}

}  // namespace

Options options() {
  Kept& k = kept();
  const std::lock_guard<std::mutex> lock(k.mutex);
  if (!k.options) k.options = from_environment();
  return *k.options;
}

void set_options(const Options& options) {
  Kept& k = kept();
  const std::lock_guard<std::mutex> lock(k.mutex);
  k.options = options;
}

void wait() { tasks::wait(); }

}  // namespace semcache::linalg
