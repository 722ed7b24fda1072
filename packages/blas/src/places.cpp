// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "places.hpp"

#include "forms.hpp"
#include "process.hpp"
#include "stand_ins.hpp"

#include <semcache/base/error.hpp>
#include <semcache/tasks/lanes.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

namespace semcache::blas {
namespace {

/// An operand that is sent at each call: a device array for the time of the call.
class Sent : base::Uncopied {
 public:
  explicit Sent(const Operand& operand)
      : of_(operand), in_front_(operand.begin() % alignment), array_(runtime::allocate_device("BLAS operand", in_front_ + operand.span())) {}
  ~Sent() { runtime::deallocate(array_); }
  [[nodiscard]] std::byte* at() const noexcept { return static_cast<std::byte*>(array_) + in_front_; }
  void send() const {
    if (of_.is_scattered()) runtime::copy(at(), of_.address, of_.span(), runtime::queue_of(nullptr));
    else copy(at(), of_.address, 0, of_.width(), of_.columns);
  }
  /// Brings back what the routine may have written.
  void bring_back() const {
    void* const home = const_cast<void*>(of_.address);
    if (of_.part == Part::all && of_.is_scattered()) return scatter(static_cast<std::byte*>(home));
    if (of_.part == Part::all) return copy(home, at(), 0, of_.width(), of_.columns);
    for_each_column_of_part(of_, [&](std::uint64_t column, std::uint64_t first, std::uint64_t end) {
      copy(home, at(), column * of_.pitch() + first * of_.element_bytes, (end - first) * of_.element_bytes, 1);
    });
  }

 private:
  /// Between the elements there may be what other threads write.
  void scatter(std::byte* home) const {
    std::vector<std::byte> hull(of_.span());
    runtime::copy(hull.data(), at(), hull.size(), runtime::queue_of(nullptr));
    for (std::size_t i = 0; i < hull.size(); i += of_.pitch()) std::memcpy(home + i, hull.data() + i, of_.width());
  }
  void copy(void* to, const void* from, std::size_t offset, std::size_t width, std::size_t columns) const {
    runtime::copy_2d(static_cast<std::byte*>(to) + offset, of_.pitch(), static_cast<const std::byte*>(from) + offset, of_.pitch(), width, columns,
                     runtime::queue_of(nullptr));
  }
  static constexpr std::size_t alignment = 512;  // of arrays; the operand is aligned there as it is on the host
  const Operand& of_;
  std::size_t in_front_;
  void* array_;
};

/// What a call uses on the device. Of scattered elements the hull: the routine leaves what is between them as it is.
runtime::LibraryUse use_of(const Operand& o, const void* at) noexcept {
  if (!o.is_scattered()) return {at, o.width(), o.mode, o.columns, o.pitch()};
  return {at, o.span(), o.mode == Access::read ? Access::read : Access::read_write};
}

constexpr std::uint32_t device = 0;

/// What the device's routine gets, and what it uses there.
struct Uses {
  std::array<const void*, most_operands> at{};  ///< nullptr: the operand is empty
  std::array<runtime::LibraryUse, most_operands> of;
  std::size_t count = 0;
  void add(std::size_t operand, const void* first, const runtime::LibraryUse& use) noexcept {
    at[operand] = first;
    of[count++] = use;
  }
};

void launch(const Routines& routines, const runtime::Stream& stream, const Uses& uses) {
  const base::AtEnd noted([] { tasks::note_submitted(); });
  const runtime::Launch launch(stream.queue, uses.of.data(), uses.count);
  const runtime::OnDevice on(device);
  if (runtime::devices_are_emulated()) routines.on_emulated(stream, uses.at.data());
  else routines.on_gpu(stream, uses.at.data());
}

/// Returns the calling thread's lane of the device: threads get them in turn. So calls of several threads can overlap on the device. What they have in
/// common of their operands orders them, whatever their lanes are; the calls of one thread are in order.
runtime::Stream lane_of_this_thread(std::uint32_t device) {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Lane {
    std::uint32_t number = none;
    std::uint64_t epoch = 0;  ///< of the runtime to which the stream belongs
    runtime::Stream stream;
  };
  static std::atomic<std::uint32_t> threads{0};
  [[gnu::tls_model("initial-exec")]] static thread_local Lane lane;
  const bool runs = device_count() > 0;
  const std::uint64_t epoch = runtime::epoch();
  if (runs && lane.epoch == epoch && lane.stream.device == device) return lane.stream;
  if (lane.number == none) lane.number = threads.fetch_add(1, std::memory_order_relaxed) % tasks::lanes_of_device;
  lane.stream = tasks::lane(device, lane.number);
  lane.epoch = runs ? epoch : 0;  // the call may have started the runtime
  return lane.stream;
}

/// Returns the first byte of a whole page behind the operand's first byte. What is adopted in place contains one.
const void* whole_page_of(const Operand& o) noexcept {
  const std::size_t page = blocks::page_bytes();
  return reinterpret_cast<const void*>((o.begin() + page - 1) / page * page);
}

}  // namespace

Places::Places(const Call& call) noexcept : call_(call), changes_(blocks::changes()), epoch_(runtime::epoch()) {
  std::array<const void*, most_operands> addresses;
  for (std::size_t i = 0; i < call.count; ++i) addresses[i] = call.operands[i].empty() ? nullptr : call.operands[i].address;
  blocks::find(addresses.data(), call.count, blocks_.data());
  for (std::size_t i = 0; i < call.count; ++i) {
    if (!blocks_[i]) continue;
    const Operand& o = call.operands[i];
    const blocks::Block& block = *blocks_[i];
    const auto begin = reinterpret_cast<std::uintptr_t>(block.address), end = begin + block.bytes;
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const bool stack = block.stack || (here >= begin && here < end);
    if (stack || o.end() > end) blocks_[i].reset();
  }
  // Operands in one block have one tile.
  for (std::size_t i = 0; i < call.count; ++i) {
    if (!blocks_[i] || call.operands[i].end() <= reinterpret_cast<std::uintptr_t>(blocks_[i]->address) + blocks_[i]->asked) continue;
    blocks::is_used_beyond(blocks_[i]->address);
    for (std::optional<blocks::Block>& other : blocks_) {
      if (other && other->address == blocks_[i]->address) other->asked = other->bytes;
    }
  }
}

void Places::add_to(Facts& facts) const {
  for (std::size_t i = 0; i < call_.count; ++i) {
    const Operand& o = call_.operands[i];
    if (o.empty()) continue;
    const bool adopted = blocks_[i] && device_runs() && blocks_[i]->adopted_in == runtime::epoch();
    std::uint64_t on_device = 0;
    if (adopted) try {
      const bool hull = o.is_scattered();
      for (const runtime::HeldBytes& h : runtime::holders(o.address, hull ? o.span() : o.width(), hull ? 1 : o.columns, o.pitch())) {
        on_device += h.where.size();
      }
      for (const std::uint64_t bytes : runtime::missing_bytes(o.address, o.span()).from_devices) facts.missing_on_host += bytes;
    } catch (const UsageError&) {  // another thread has released it meanwhile
    }
    if (o.mode != Access::overwrite) facts.missing_on_device += o.bytes() - std::min<std::uint64_t>(on_device, o.bytes());
    if (writes(o.mode)) {
      facts.result_bytes += o.bytes();
      // What the device wrote last, and lies on the host now, has been read there.
      in_place::Range range;
      const bool can_stay = blocks_[i] || in_place::find(o, range);
      facts.results_went_home = !can_stay || (blocks_[i] && blocks_[i]->written_by_device && adopted && facts.missing_on_host == 0);
    }
  }
}

void Places::bring_home() const noexcept {
  for (std::size_t i = 0; i < call_.count; ++i) {
    const Operand& o = call_.operands[i];
    in_place::Range range;
    if (o.empty() || !(blocks_[i] ? is_adopted(*blocks_[i]) : in_place::find(o, range))) continue;
    // Of a triangle, and between scattered elements, there may be what other threads write.
    const bool is_whole = o.part == Part::all && !o.is_scattered();
    try {
      if (o.is_scattered()) access(o.address, o.span(), Access::read);
      else access_2d(o.address, o.pitch(), o.width(), o.columns, is_whole ? o.mode : Access::read);
    } catch (const std::exception&) {  // it is another thread's: released meanwhile, say
    }
  }
}

std::pair<const std::byte*, std::size_t> Places::datum_of(std::size_t i) const noexcept {
  if (blocks_[i]) return {blocks_[i]->address, blocks_[i]->asked};
  in_place::Range range;
  (void)in_place::find(call_.operands[i], range);
  const std::size_t page = blocks::page_bytes();
  const std::uintptr_t begin = (range.begin + page - 1) / page * page, end = range.end / page * page;  // its edges are not tracked
  return {reinterpret_cast<const std::byte*>(begin), end - begin};
}

Places::How Places::adopt(std::size_t i, Known known) const {
  if (call_.operands[i].empty()) return How::sent;
  if (blocks_[i]) {
    const bool was_adopted = known == Known::still && blocks_[i]->adopted_in == runtime::epoch();
    return (was_adopted ? blocks_[i]->noticed : blas::adopt(*blocks_[i])) ? How::block : How::sent;
  }
  if (call_.operands[i].is_scattered()) return How::sent;
  return in_place::adopt(call_.operands[i]) && runtime::notices_host_accesses(whole_page_of(call_.operands[i])) ? How::in_place : How::sent;
}

bool Places::are_adopted(const Hows& how) const noexcept {
  std::array<const std::byte*, most_operands> in_blocks;
  std::size_t count = 0;
  for (std::size_t i = 0; i < call_.count; ++i) {
    in_place::Range range;
    if (how[i] == How::block) in_blocks[count++] = blocks_[i]->address;
    if (how[i] == How::in_place && !in_place::find(call_.operands[i], range)) return false;
  }
  return (runtime::epoch() == epoch_ && blocks::changes() == changes_) || blocks::are_adopted(in_blocks.data(), count, runtime::epoch());
}

Verdict Places::compute(const Routines& routines) {
  Hows how{};
  std::optional<DeviceUse> use;
  // What is adopted may be released by another thread before this one uses it: at most a few times, or it is sent.
  constexpr int most_tries = 3;
  for (int tries = 0; !use || !are_adopted(how); ++tries) {
    use.reset();
    const Known known = tries == 0 ? Known::still : Known::not_any_more;
    for (std::size_t i = 0; i < call_.count; ++i) how[i] = tries < most_tries ? adopt(i, known) : How::sent;
    use.emplace();
    if (process_forks()) return Verdict::process_forks;  // since a moment ago
  }
  bool in_blocks = true;
  for (std::size_t i = 0; i < call_.count; ++i) {
    const Operand& o = call_.operands[i];
    in_blocks = in_blocks && (o.empty() || (how[i] == How::block && o.form == nullptr));
  }
  const bool fits = fit_together(call_, device);
  const Verdict verdict = in_blocks && fits ? compute_in_blocks(routines) : compute_anywhere(routines, how, fits);
  if (verdict == Verdict::no_memory) return verdict;
  for (std::size_t i = 0; i < call_.count; ++i) {
    if (!writes(call_.operands[i].mode) || call_.operands[i].empty() || how[i] != How::block) continue;
    if (!blocks_[i]->written_by_device) blocks::was_written(blocks_[i]->address);
  }
  return verdict;
}

Verdict Places::compute_in_blocks(const Routines& routines) const {
  std::array<runtime::Tile::Part, most_operands> blocks;
  std::size_t count = 0;
  for (std::size_t i = 0; i < call_.count; ++i) {
    if (call_.operands[i].empty()) continue;
    const auto [whole, bytes] = datum_of(i);
    blocks[count++] = {whole, bytes};
  }
  const runtime::Tiles tiles(blocks.data(), count, device);
  Uses uses;
  for (std::size_t i = 0; i < call_.count; ++i) {
    const Operand& o = call_.operands[i];
    if (o.empty()) continue;
    const auto* const first = static_cast<const std::byte*>(tiles[uses.count].data()) + (static_cast<const std::byte*>(o.address) - blocks_[i]->address);
    uses.add(i, first, use_of(o, first));
  }
  launch(routines, lane_of_this_thread(device), uses);
  return Verdict::on_device;
}

Verdict Places::compute_anywhere(const Routines& routines, const Hows& how, bool fits) const {
  // Operands in place may share their first and last page with other data: device arrays stand for them then.
  std::array<tasks::Matrix, most_operands> matrices;
  std::vector<linalg::OperandUse> in_adopted;
  for (std::size_t i = 0; i < call_.count; ++i) {
    const Operand& o = call_.operands[i];
    matrices[i] = {o.address, o.rows, o.columns, o.leading, o.element_bytes};
    if (o.empty() || how[i] != How::in_place) continue;
    in_adopted.push_back({&matrices[i], o.mode});
    if (o.part == Part::all || !writes(o.mode)) continue;
    for_each_column_of_part(o, [&](std::uint64_t column, std::uint64_t first, std::uint64_t end) {
      in_adopted.back().parts.push_back({first, end, column, column + 1});
    });
  }
  linalg::StandIns stand_ins(in_adopted);
  std::array<std::optional<runtime::Tile>, most_operands> tiles;
  std::array<std::unique_ptr<Sent>, most_operands> sent;
  std::array<std::unique_ptr<Formed>, most_operands> formed;
  const runtime::Stream stream = lane_of_this_thread(device);
  Uses uses;
  for (std::size_t i = 0; i < call_.count; ++i) {
    const Operand& o = call_.operands[i];
    if (o.empty()) continue;
    const std::byte* first = static_cast<const std::byte*>(matrices[i].data);
    if (how[i] == How::sent) {
      sent[i] = std::make_unique<Sent>(o);
      if (o.mode != Access::overwrite) sent[i]->send();
      first = sent[i]->at();
      matrices[i].data = first;
    } else if (first == o.address && fits) {
      const auto [whole, bytes] = datum_of(i);
      tiles[i].emplace(runtime::Tile::Part{whole, bytes}, device);
      first = static_cast<const std::byte*>(tiles[i]->data()) + (first - whole);
    }
    if (o.form != nullptr) {
      formed[i] = std::make_unique<Formed>(o, stream, first, sent[i] != nullptr ? first : matrices[i].data);
      uses.add(i, formed[i]->at(), formed[i]->use());
    } else {
      uses.add(i, first, use_of(o, first));
    }
  }
  std::size_t pieces = 0;
  if (!fits) try {
    if (!compute_in_pieces(call_, routines, matrices, device, pieces)) return Verdict::no_memory;
  } catch (const std::exception& e) {
    if (pieces > 0) refuse_added_twice(e.what());
    throw;
  } else {
    launch(routines, stream, uses);
  }
  try {
    for (const std::unique_ptr<Formed>& f : formed) {
      if (f != nullptr) f->reverse();
    }
    stand_ins.write_back();
    for (std::size_t i = 0; i < call_.count; ++i) {
      if (sent[i] != nullptr && writes(call_.operands[i].mode)) sent[i]->bring_back();
    }
  } catch (const std::exception& e) {
    refuse_added_twice(e.what());
    throw;
  }
  return fits ? Verdict::on_device : Verdict::in_pieces;
}

void Places::refuse_added_twice(const char* why) const {
  for (const Operand& o : call_.operands) {
    if (o.mode != Access::read_write || o.empty()) continue;
    base::fatal("a BLAS call has computed on the device, and its result at %p cannot come home: %s. With SEMCACHE_BLAS_OFFLOAD=never "
                "all calls stay on the host", o.address, why);
  }
}

}  // namespace semcache::blas
