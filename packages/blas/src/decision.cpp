// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "decision.hpp"

#include <algorithm>
#include <cstdio>

namespace semcache::blas {

const char* text_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::on_device: return "on the device";
    case Verdict::in_pieces: return "on the device, in pieces: the operands together exceed its memory";
    case Verdict::off: return "on the host: SEMCACHE_BLAS_OFFLOAD=never";
    case Verdict::nothing_to_compute: return "on the host: nothing to compute";
    case Verdict::wrong_arguments: return "on the host: wrong arguments";
    case Verdict::no_routine: return "on the host: the device's library does not have it, or not for such arguments";
    case Verdict::too_large: return "on the host: a size does not fit 32 bits";
    case Verdict::operands_overlap: return "on the host: the result overlaps an input";
    case Verdict::too_little_work: return "on the host: too little work for the bytes that are missing on the device";
    case Verdict::results_go_home: return "on the host: it reads each result, so that all would cross the link";
    case Verdict::has_lost: return "on the host: calls on the device, and the way home of their results, have taken longer than the host would have";
    case Verdict::not_started_yet: return "on the host: it has not computed as long yet as a device takes to start";
    case Verdict::no_device: return "on the host: there is no GPU, and SEMCACHE_DEVICE=emulated is not set";
    case Verdict::no_memory: return "on the host: the operands do not fit the device (SEMCACHE_DEVICE_MEMORY)";
    case Verdict::failed: return "on the host: the device or its library failed (see stderr)";
    case Verdict::in_child: return "on the host: this is a child of fork()";
    case Verdict::process_forks: return "on the host: another thread forks at the time";
    case Verdict::own_semcache: return "on the host: the program contains SemCache itself";
  }
  return "?";
}

std::string Plan::text() const {
  char line[200];
  std::snprintf(line, sizeof line, "%s (host %.3g s, device %.3g s)", text_of(verdict), on_host, on_device);
  return line;
}

namespace {

double to_bring_home(const Facts& f, const Rates& r) noexcept { return static_cast<double>(f.missing_on_host) / r.link_bytes; }

/// Would the host be faster if it had the bytes?
bool pays_rent(const Facts& f, const Plan& plan, const Rates& r) noexcept {
  return f.missing_on_host > 0 && plan.on_device >= plan.on_host - to_bring_home(f, r);
}

void add(std::atomic<double>& sum, double more) noexcept {
  double now = sum.load(std::memory_order_relaxed);
  while (!sum.compare_exchange_weak(now, now + more, std::memory_order_relaxed)) {
  }
}

}  // namespace

void Account::host_computed(double operations, double seconds) noexcept {
  add(host_seconds_, seconds);
  if (seconds < 1e-4) return;  // too short to tell how fast the host is
  const double rate = operations / seconds;
  double fastest = fastest_.load(std::memory_order_relaxed);
  while (rate > fastest && !fastest_.compare_exchange_weak(fastest, rate, std::memory_order_relaxed)) {
  }
}

void Account::device_computed(double operations, double bytes, double seconds, const Rates& r) noexcept {
  if (!has_computed_.exchange(true, std::memory_order_relaxed)) return;
  const double fastest = fastest_.load(std::memory_order_relaxed);
  add(lost_seconds_, seconds - std::max(operations / (fastest > 0 ? fastest : r.host_operations), bytes / r.memory_bytes));
}

void Account::brought_home(double seconds) noexcept { add(lost_seconds_, seconds); }

double Account::lost_seconds(double in_faults, const Rates& r) noexcept {
  const double lost = lost_seconds_.load(std::memory_order_relaxed) + in_faults;
  if (lost >= -r.credit_seconds) return lost;
  add(lost_seconds_, -r.credit_seconds - lost);
  return -r.credit_seconds;
}

void Account::decided(const Facts& f, const Plan& plan, const Rates& r) noexcept {
  if (f.missing_on_host == 0 || f.asked != Offload::automatic) return;
  if (plan.verdict == Verdict::on_device) {
    if (pays_rent(f, plan, r)) add(rented_seconds_, plan.on_device);
  } else if (const double rented = rented_seconds(); rented > 0) {
    add(rented_seconds_, -std::min(rented, to_bring_home(f, r)));
  }
}

Plan decide(const Facts& f, const Rates& r) noexcept {
  Plan plan;
  plan.on_host = f.operations / r.host_operations + static_cast<double>(f.missing_on_host) / r.link_bytes;
  plan.on_device = r.launch_seconds + f.operations / r.device_operations + static_cast<double>(f.missing_on_device) / r.link_bytes;
  if (f.asked == Offload::never) {
    plan.verdict = Verdict::off;
  } else if (f.asked == Offload::always) {
    plan.verdict = Verdict::on_device;
  } else if (plan.on_device >= plan.on_host || (pays_rent(f, plan, r) && f.rented_seconds >= to_bring_home(f, r))) {
    plan.verdict = Verdict::too_little_work;
  } else {
    if (f.results_went_home) plan.on_device += static_cast<double>(f.result_bytes) / r.link_bytes;
    if (plan.on_device >= plan.on_host) plan.verdict = Verdict::results_go_home;
    else if (f.device_runs && f.lost_seconds > r.loss_seconds + r.loss_share * f.host_seconds) plan.verdict = Verdict::has_lost;
    else if (!f.device_runs && f.host_seconds < r.start_seconds) plan.verdict = Verdict::not_started_yet;
  }
  return plan;
}

Facts at_worst(Facts facts, std::uint64_t read_bytes, std::uint64_t result_bytes) noexcept {
  facts.missing_on_device = read_bytes;
  facts.missing_on_host = 0;
  facts.result_bytes = result_bytes;
  facts.results_went_home = true;
  return facts;
}

}  // namespace semcache::blas
