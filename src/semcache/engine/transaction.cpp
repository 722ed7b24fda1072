// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/transaction.hpp>

namespace semcache::engine {

Engine::Transaction::~Transaction() {
  if (launch_follows_ && std::uncaught_exceptions() == exceptions_) {
    engine_.project_soon();
  } else {
    engine_.collect_orphans();
    engine_.project();
  }
}

void Engine::Transaction::give_up() {
  engine_.project();
  lock_.unlock();
}

}  // namespace semcache::engine
