// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "call.hpp"

#include "places.hpp"
#include "process.hpp"
#include "undisturbed.hpp"  // of packages/syscalls

#include <semcache/base/error.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

namespace semcache::blas {
namespace {

// Where the stack of this thread was when it entered the routine in which it is; 0: in none. A handler of the program may have jumped out of the
// host's routine, and then later calls come from further up. It is read in calls from any code, so its access must not allocate.
[[gnu::tls_model("initial-exec")]] thread_local std::uintptr_t within_call = 0;

std::uintptr_t stack_here() noexcept { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

Account account;
/// The system's way to a fault's handler and back, and the change of threads.
constexpr double fault_seconds = 1e-5;

double seconds_since(std::chrono::steady_clock::time_point begin) noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool writes_what_another_uses(const Call& call) noexcept {
  for (std::size_t i = 0; i < call.count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if ((writes(call.operands[i].mode) || writes(call.operands[j].mode)) && may_overlap(call.operands[i], call.operands[j])) return true;
    }
  }
  return false;
}

/// Small calls are common, and shall cost nothing. Even if all their bytes are on the device, they do not pay there.
bool is_small(double operations, double bytes) noexcept {
  constexpr Rates r;
  return operations + bytes * (r.host_operations / r.link_bytes) <= r.launch_seconds * r.host_operations;
}

double bytes_of(const Call& call) noexcept {
  double bytes = 0;
  for (std::size_t i = 0; i < call.count; ++i) bytes += static_cast<double>(call.operands[i].bytes());
  return bytes;
}

/// About how long the host would compute. It is as long as a call waits for a fork.
double host_seconds(const Call& call) noexcept { return call.operations / Rates{}.host_operations; }

/// What can be told without a look at the memory; on_device: nothing is against it.
Verdict first_verdict(const Call& call, Facts& facts) noexcept {
  if (call.refused != Verdict::on_device) return call.refused;
  facts.asked = settings().offload;
  facts.operations = call.operations;
  if (facts.asked == Offload::never) return Verdict::off;
  Verdict why_not = Verdict::on_device;
  facts.device_runs = device_is_there(Start::no, why_not);
  if (!facts.device_runs && why_not != Verdict::not_started_yet) return why_not;
  if (writes_what_another_uses(call)) return Verdict::operands_overlap;
  double spans = 0;
  for (std::size_t i = 0; i < call.count; ++i) spans += static_cast<double>(call.operands[i].span());
  if (facts.asked == Offload::automatic && is_small(facts.operations, spans)) return Verdict::too_little_work;
  return process_forks() && !forks_end_within(host_seconds(call)) ? Verdict::process_forks : Verdict::on_device;
}

Verdict verdict_of(const Call& call, const Places& places, Facts& facts) {
  Verdict why_not = Verdict::on_device;
  facts.host_seconds = account.host_seconds();
  facts.rented_seconds = account.rented_seconds();
  if (facts.asked == Offload::automatic && facts.device_runs && !runtime::devices_are_emulated()) {  // whose times say nothing
    const runtime::FaultCost faults = runtime::fault_cost();
    facts.lost_seconds = account.lost_seconds(faults.seconds + static_cast<double>(faults.count) * fault_seconds);
  }
  // Most calls pay wherever their operands are. To look for them takes longer than all else.
  std::uint64_t read = 0, written = 0;
  for (std::size_t i = 0; i < call.count; ++i) {
    const Operand& o = call.operands[i];
    if (o.mode != Access::overwrite) read += o.bytes();
    if (writes(o.mode)) written += o.bytes();
  }
  Plan plan = decide(at_worst(facts, read, written));
  if (plan.verdict != Verdict::on_device) {
    places.add_to(facts);
    plan = decide(facts);
    account.decided(facts, plan);
  }
  if (plan.verdict != Verdict::on_device) return plan.verdict;
  return device_is_there(Start::if_needed, why_not) ? Verdict::on_device : why_not;
}

Verdict compute_on_device(Places& places, const Call& call, const Routines& routines, Offload asked) noexcept {
  try {
    if (asked != Offload::automatic) return places.compute(routines);
    const auto begin = std::chrono::steady_clock::now();
    const Verdict verdict = places.compute(routines);
    if (verdict == Verdict::on_device || verdict == Verdict::in_pieces) account.device_computed(call.operations, bytes_of(call), seconds_since(begin));
    return verdict;
  } catch (const OutOfMemory&) {
    return Verdict::no_memory;
  } catch (const std::exception& e) {
    give_up(e.what());
    return Verdict::failed;
  }
}

/// Computes on the device if that pays. Otherwise brings home what the host lacks, and returns why. @pre this thread is not cancelled meanwhile
Verdict try_device(const Call& call, const Routines& routines, Facts facts) noexcept {
  const SignalsBlocked blocked;  // two system calls, which small calls on the host are spared
  try {
    Places places(call);
    const Verdict verdict = verdict_of(call, places, facts);
    if (verdict == Verdict::on_device) return compute_on_device(places, call, routines, facts.asked);
    if (facts.missing_on_host > 0) {
      const auto begin = std::chrono::steady_clock::now();
      places.bring_home();
      account.brought_home(seconds_since(begin));
    }
    return verdict;
  } catch (const std::exception& e) {
    give_up(e.what());
    return Verdict::failed;
  }
}

void compute_on_host(const Call& call, const Routines& routines, Verdict why) {
  switch (why) {
    case Verdict::too_little_work:
    case Verdict::results_go_home:
    case Verdict::has_lost:
    case Verdict::not_started_yet: break;
    default: return routines.on_host(call.at.data());
  }
  const auto begin = std::chrono::steady_clock::now();
  routines.on_host(call.at.data());
  account.host_computed(call.operations, seconds_since(begin));
}

}  // namespace

bool is_within_call() noexcept { return stack_here() < within_call; }

void enter_passed_through(Routine& routine, Verdict why) noexcept {
  count(routine, why);
  within_call = stack_here();
}
void enter_routine() noexcept { within_call = stack_here(); }
void leave_passed_through() noexcept { within_call = 0; }

bool enter_small(Routine& routine, double operations, double bytes) noexcept {
  const Offload asked = settings().offload;
  if (asked == Offload::always || !is_small(operations, bytes)) return false;
  Verdict why = Verdict::off;
  if (asked == Offload::automatic && (device_is_there(Start::no, why) || why == Verdict::not_started_yet)) why = Verdict::too_little_work;
  count(routine, why);
  within_call = stack_here();
  return true;
}

void carry_out(const Call& call, const Routines& routines) {
  within_call = stack_here();
  const base::AtEnd left([] { within_call = 0; });
  std::optional<syscalls::Uncancelled> uncancelled(std::in_place);
  const int error = errno;
  Facts facts;
  Verdict verdict = first_verdict(call, facts);
  if (verdict == Verdict::on_device) {
    verdict = try_device(call, routines, facts);
    if (verdict == Verdict::process_forks && forks_end_within(host_seconds(call))) verdict = try_device(call, routines, facts);
  }
  count(*call.routine, verdict);
  uncancelled.reset();
  errno = error;
  if (verdict == Verdict::wrong_arguments) within_call = 0;  // the program's xerbla may leave by longjmp, or by an exception
  if (verdict != Verdict::on_device && verdict != Verdict::in_pieces) compute_on_host(call, routines, verdict);
}

}  // namespace semcache::blas
