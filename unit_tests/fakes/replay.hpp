// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/plan/step.hpp>

#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace semcache::fakes {

/// Repeats each step of an engine, at once and in order, on a flat array of bytes for each slot, together with the program's
/// writes. It is a second opinion on each slot's content, which depends on no queue, event, page or directory.
class Replay final : public plan::Observer {
 public:
  using Failure = std::function<void(const std::string&)>;
  explicit Replay(Failure fail) : fail_(std::move(fail)) {}

  void done(const plan::Step& s) noexcept override {
    using Kind = plan::Step::Kind;
    ++steps_;
    if (on_step) on_step(s, true);
    switch (s.kind) {
      case Kind::allocate: {
        Flat flat;
        flat.memory = s.to.address;
        flat.on_host = s.to.space == host_space;
        flat.mapped.assign(s.bytes, flat.on_host);
        flat.bytes.resize(s.bytes);
        flat.known.assign(s.bytes, s.zeros ? yes : no);
        if (!flats_.emplace(s.to.slot.value, std::move(flat)).second) fail_("replay: a slot is allocated twice");
        return;
      }
      case Kind::map:
      case Kind::evict: {
        Flat* const f = flat(s.to, "map or evict");
        if (f == nullptr) return;
        const ByteRange block{s.to.position, s.to.position + s.bytes};
        if (block.end > f->bytes.size()) return fail_("replay: a block beyond the slot's end");
        if (any(f->mapped, block, s.kind == Kind::map)) fail_("replay: memory is mapped or evicted twice");
        if (!block.empty()) std::memset(f->mapped.data() + block.begin, s.kind == Kind::map, block.size());
        forget(*f, block, no);
        if (s.kind == Kind::evict) ++evictions_;
        return;
      }
      case Kind::release:
        if (flats_.erase(s.to.slot.value) == 0) fail_("replay: a slot that is not there is released");
        return;
      case Kind::protect: return;
      case Kind::fill: return fill(s);
      case Kind::copy: return copy(s);
    }
  }

  void refused(const plan::Step& s) noexcept override {
    if (on_step) on_step(s, false);
    if (!s.to.slot.valid() || (s.kind != plan::Step::Kind::copy && s.kind != plan::Step::Kind::fill)) return;
    Flat* const f = flat(s.to, "a refused step");
    if (f == nullptr) return;
    s.for_each_piece([&](ByteRange p) {
      s.for_each_column([&](std::uint64_t column, std::uint64_t) {
        forget(*f, {s.to.position + column + p.begin, s.to.position + column + p.end}, anything);
      });
    });
  }

  bool devices_reach_each_other = true;
  /// Called for each step, with whether it was done or refused.
  std::function<void(const plan::Step&, bool done)> on_step;

  /// Notes that the program (its host code, or a kernel that is submitted now) writes these bytes to the slot.
  template <class ByteAt>
  void program_writes(SlotId slot, ByteRange range, const ByteAt& byte_at) {
    const auto it = flats_.find(slot.value);
    if (it == flats_.end() || any(it->second.mapped, range, false)) return fail_("replay: the program writes memory that is not there");
    for (std::uint64_t i = range.begin; i < range.end; ++i) it->second.bytes[i] = byte_at(i);
    forget(it->second, range, yes);
  }
  /// Reports a failure if a byte that the replay knows differs from the byte in memory. @pre nothing is under way
  void compare() {
    for (const auto& [slot, f] : flats_) {
      for (std::uint64_t i = 0; i < f.bytes.size(); ++i) {
        if (f.mapped[i] == 0 || f.known[i] != yes || f.bytes[i] == f.memory[i]) continue;
        fail_("replay: slot " + std::to_string(slot) + (f.on_host ? " on the host" : " on the device") + " of " +
              std::to_string(f.bytes.size()) + " bytes has " + std::to_string(static_cast<int>(f.memory[i])) + " at " +
              std::to_string(i) + " where the steps so far leave " + std::to_string(static_cast<int>(f.bytes[i])));
        break;
      }
    }
  }
  /// Returns the counts of the steps so far; only fields that follow from steps are set.
  [[nodiscard]] const Counters& counted() const noexcept { return counted_; }
  [[nodiscard]] std::uint64_t evictions() const noexcept { return evictions_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  /// Whether the content of a byte is known.
  enum Known : std::uint8_t {
    no,        ///< nothing has written it
    yes,
    anything,  ///< a refused step may have written it
  };
  struct Flat {
    const std::byte* memory = nullptr;
    bool on_host = false;
    std::vector<std::uint8_t> mapped;  ///< for each byte
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> known;
  };

  static bool any(const std::vector<std::uint8_t>& flags, ByteRange r, bool value) {
    return !r.empty() && std::memchr(flags.data() + r.begin, value ? 1 : 0, r.size()) != nullptr;
  }
  static void forget(Flat& f, ByteRange r, Known known) {
    if (!r.empty()) std::memset(f.known.data() + r.begin, known, r.size());
  }
  Flat* flat(const plan::End& end, const char* what) {
    const auto it = flats_.find(end.slot.value);
    if (it != flats_.end()) return &it->second;
    fail_(std::string("replay: ") + what + " of a slot that is not there");
    return nullptr;
  }
  /// @param piece  relative to the end's position
  Flat* usable(const plan::End& end, ByteRange piece, const char* what) {
    Flat* const f = flat(end, what);
    if (f == nullptr) return nullptr;
    if (end.position + piece.end <= f->bytes.size() && !any(f->mapped, {end.position + piece.begin, end.position + piece.end}, false)) return f;
    fail_(std::string("replay: ") + what + " memory that is not mapped, or beyond its end");
    return nullptr;
  }
  static void add(Traffic& traffic, std::uint64_t bytes) { traffic += {bytes, 1}; }

  void fill(const plan::Step& s) {
    if (!s.to.slot.valid()) return;
    for (std::uint64_t c = 0; c < s.columns; ++c) {
      Flat* const f = usable(s.to, {c * s.to.pitch, c * s.to.pitch + s.bytes}, "a fill of");
      if (f == nullptr) return;
      const std::uint64_t begin = s.to.position + c * s.to.pitch;
      for (std::uint64_t i = 0; i < s.bytes; ++i) {
        f->bytes[begin + i] = static_cast<std::byte>(s.fill.pattern[(i + s.phase + c * s.phase_pitch) % s.fill.pattern_bytes]);
      }
      forget(*f, {begin, begin + s.bytes}, yes);
    }
    add(counted_.filled, s.total_bytes());
  }

  void copy(const plan::Step& s) {
    s.for_each_piece([&](ByteRange piece) {
      s.for_each_column([&](std::uint64_t to_column, std::uint64_t from_column) {
        const ByteRange p{from_column + piece.begin, from_column + piece.end};
        std::vector<std::byte> content(p.size());
        std::vector<std::uint8_t> known(p.size(), yes);
        if (s.from.slot.valid()) {
          const Flat* const from = usable(s.from, p, "a copy from");
          if (from == nullptr) return;
          std::memcpy(content.data(), from->bytes.data() + s.from.position + p.begin, p.size());
          std::memcpy(known.data(), from->known.data() + s.from.position + p.begin, p.size());
        } else {
          std::memcpy(content.data(), s.from.address + p.begin, p.size());
        }
        if (!s.to.slot.valid()) return;
        Flat* const to = usable(s.to, {to_column + piece.begin, to_column + piece.end}, "a copy to");
        if (to == nullptr) return;
        std::memcpy(to->bytes.data() + s.to.position + to_column + piece.begin, content.data(), p.size());
        std::memcpy(to->known.data() + s.to.position + to_column + piece.begin, known.data(), p.size());
      });
    });
    count(s, s.total_bytes());
  }

  void count(const plan::Step& s, std::uint64_t bytes) {
    using plan::Purpose;
    if (s.purpose == Purpose::detour) return;
    const bool saves = s.purpose == Purpose::save || s.purpose == Purpose::write_back;
    if (s.to.space == s.from.space) {
      const bool host = s.to.space == host_space;
      add(saves ? (host ? counted_.saved_host : counted_.saved_device) : (host ? counted_.h2h : counted_.d2d), bytes);
      return;
    }
    if (s.to.space != host_space && s.from.space != host_space) {
      if (devices_reach_each_other) {
        add(counted_.d2d, bytes);
        add(counted_.between_devices, bytes);
      } else {
        add(counted_.d2h, bytes);
        add(counted_.h2d, bytes);
      }
      return;
    }
    add(s.to.space == host_space ? counted_.d2h : counted_.h2d, bytes);
    if (saves) add(counted_.saved_link, bytes);
    if (s.purpose == Purpose::write_back) add(counted_.written_back, bytes);
  }

  Failure fail_;
  std::unordered_map<std::uint32_t, Flat> flats_;
  Counters counted_;
  std::uint64_t evictions_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace semcache::fakes
