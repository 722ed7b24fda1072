// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/transaction.hpp>

namespace semcache::engine {

Transaction::~Transaction() {
  if (launch_follows_ && std::uncaught_exceptions() == exceptions_) {
    all_.projection_.project_soon();
  } else {
    all_.arrays_.collect_orphans();
    all_.give_back_memory(*this);  // first, so that what this thread has freed is not left to another one
    all_.end_mappings(*this);
    all_.projection_.project();
  }
  for (auto& d : all_.s_.devices) d->memory->forget_refusal();
}

void Transaction::give_up() {
  all_.projection_.project();
  ++all_.s_.unlocked;
  lock_.unlock();
}

}  // namespace semcache::engine
