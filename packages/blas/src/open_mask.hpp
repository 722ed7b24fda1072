// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <signal.h>

namespace semcache::blas {

/// A set of signals without SIGSEGV, unless it is to be unblocked; nothing stays nothing.
class Open {
 public:
  explicit Open(const sigset_t* set, int how = SIG_BLOCK) noexcept : given_(set != nullptr) {
    if (!given_) return;
    set_ = *set;
    if (how != SIG_UNBLOCK) ::sigdelset(&set_, SIGSEGV);
  }
  [[nodiscard]] const sigset_t* get() const noexcept { return given_ ? &set_ : nullptr; }

 private:
  bool given_;
  sigset_t set_;
};

}  // namespace semcache::blas
