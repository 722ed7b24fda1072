// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace semcache::fakes {

/// A function that a test sets, and that several threads may call meanwhile: a call that has begun goes on with the function that it found.
/// Thread-safe. What the function refers to must live until the last such call has ended.
template <class... Arguments>
class Hook {
 public:
  using Function = std::function<void(Arguments...)>;
  /// @param next  nothing: calls do nothing from now on
  void operator=(Function next) {
    auto shared = next ? std::make_shared<const Function>(std::move(next)) : nullptr;
    const std::lock_guard<std::mutex> guard(mutex_);
    function_.swap(shared);
  }
  void operator()(Arguments... arguments) const {
    if (const auto function = now()) (*function)(arguments...);
  }

 private:
  [[nodiscard]] std::shared_ptr<const Function> now() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return function_;
  }
  mutable std::mutex mutex_;
  std::shared_ptr<const Function> function_;
};

}  // namespace semcache::fakes
