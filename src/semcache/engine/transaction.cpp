// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/transaction.hpp>

namespace semcache::engine {

void Transactions::take_in_turn(std::unique_lock<std::mutex>& lock) const {
  if (here().served_address != nullptr) {
    faults_at_lock_.fetch_add(1, std::memory_order_relaxed);
    lock.lock();
    faults_at_lock_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  // Whoever has the lock gives it up without the help of other threads, so this wait is as long as that of the fault.
  while (faults_at_lock_.load(std::memory_order_relaxed) != 0) timeline::wait_a_moment();
  lock.lock();
}

Transaction::~Transaction() {
  if (launch_follows_ && std::uncaught_exceptions() == exceptions_) {
    all_.projection_.project_soon();
  } else {
    all_.arrays_.collect_orphans();
    all_.end_mappings(*this);
    all_.give_back_staging(*this);
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
