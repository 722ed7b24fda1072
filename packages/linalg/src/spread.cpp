// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/linalg/spread.hpp>

#include <semcache/tasks/lanes.hpp>

#include <mutex>
#include <optional>

namespace semcache::linalg {

namespace {

struct Kept {
  std::mutex mutex;
  std::optional<Options> options;
};
Kept& kept() {
  static Kept* const k = new Kept;  // calls may come from destructors of the program's statics
  return *k;
}

}  // namespace

Options options() {
  Kept& k = kept();
  const std::lock_guard<std::mutex> lock(k.mutex);
  if (k.options) return *k.options;
  Options o;
  o.spread = runtime::spread();
  return o;
}

void set_options(const Options& options) {
  Kept& k = kept();
  const std::lock_guard<std::mutex> lock(k.mutex);
  k.options = options;
}

void wait() { tasks::wait(); }

}  // namespace semcache::linalg
