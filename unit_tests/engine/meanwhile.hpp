// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace semcache::fakes {

/// A move of another thread at one of the points of a call at which it gives up the engine's lock. The call goes on when the move has been
/// made. Some moves cannot be made at some points, because what the call has under way there keeps everybody waiting; then the call goes on when
/// the other thread waits, too, and the move is made later. Which of the two it was is counted, and where nothing is under way the move must be
/// made.
class Meanwhile {
 public:
  /// @param point  how many points the call passes first
  Meanwhile(World& w, long point, std::function<void()> move) : w_(w), left_(point), move_(std::move(move)) {
    w_.machine().when_unlocked([this] { arrive(); });
  }
  ~Meanwhile() { end(); }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

  /// Waits for the other thread. To be called when the call has returned.
  void end() {
    w_.machine().when_unlocked(nullptr);
    if (other_.joinable()) other_.join();
  }
  [[nodiscard]] bool reached() const { return reached_; }
  /// The move was made before the call went on.
  [[nodiscard]] bool got_through() const { return got_through_; }
  /// What the call has under way at the point; empty: nothing that could keep another thread waiting.
  [[nodiscard]] const std::string& under_way() const { return under_way_; }

 private:
  void arrive() {
    if (left_-- > 0) return w_.machine().when_unlocked([this] { arrive(); });
    reached_ = true;
    under_way_ = find_under_way();  // nobody else runs yet
    std::atomic<bool> begun{false};
    other_ = std::thread([this, &begun] {
      w_.machine().count_waits_of_this_thread();
      begun = true;
      move_();
      done_ = true;
    });
    while (!begun) std::this_thread::yield();
    // The other thread waits for its own transfers, too, so it is asked for a while. This limit is for a test that fails.
    constexpr std::uint64_t many = 30;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done_ && (under_way_.empty() || w_.machine().waits_of_counted() < many)) {
      std::this_thread::sleep_for(std::chrono::microseconds(5));
      if (std::chrono::steady_clock::now() < limit) continue;
      ADD_FAILURE() << "another thread does not get through, although " << (under_way_.empty() ? "nothing is" : under_way_) << " under way";
      break;
    }
    got_through_ = done_;
  }
  [[nodiscard]] std::string find_under_way() const {
    const engine::State& s = w_.e().state();
    const auto is_pinned = [&](const Memory& m) { return m.live && s.pinned(m); };
    const auto is_awaited = [](const Memory& m) { return m.awaited != 0; };
    const auto locks_pages = [](const engine::Flight& f) { return f.locks_pages; };
    std::string found;
    if (std::any_of(s.pool.begin(), s.pool.end(), is_pinned)) found += " a launch or a use,";
    if (std::any_of(s.pool.begin(), s.pool.end(), is_awaited)) found += " a wait to which launches give way,";
    if (std::any_of(s.flights.begin(), s.flights.end(), locks_pages)) found += " page-locking,";
    if (std::any_of(s.devices.begin(), s.devices.end(), [](const auto& d) { return d->memory->working(); })) found += " mapping,";
    if (s.frees > 0) found += " freeing,";
    return found;
  }

  World& w_;
  long left_;
  std::function<void()> move_;
  std::thread other_;
  std::atomic<bool> done_{false};
  bool reached_ = false, got_through_ = false;
  std::string under_way_;
};

/// Returns the calls that a world with these things permits.
inline std::vector<Scenario> scenarios_with(With with) {
  std::vector<Scenario> all = scenarios();
  if (with == With::arrays) return all;
  all.insert(all.end(), scenarios_of_adopted_memory().begin(), scenarios_of_adopted_memory().end());
  return all;
}

/// How often other threads got through, and what kept them waiting.
struct Through {
  std::size_t through = 0, waited = 0, no_room = 0;
  std::map<std::string, std::size_t> behind;
  /// @param refused  the move was refused for lack of device memory
  void count(const Meanwhile& m, bool refused = false) {
    ++(refused ? no_room : m.got_through() ? through : waited);
    if (!refused && !m.got_through()) ++behind[m.under_way()];
  }
  [[nodiscard]] std::string text() const {
    std::string out = std::to_string(through) + " got through, " + std::to_string(no_room) + " found no room, " + std::to_string(waited) + " waited";
    for (const auto& [what, times] : behind) out += "\n    " + std::to_string(times) + " behind" + what;
    return out;
  }
};

}  // namespace semcache::fakes
