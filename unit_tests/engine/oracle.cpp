// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace semcache::fakes {

using engine::Memory;
using engine::Operand;

namespace {

// Addresses that stand for streams, five for each device: three of the program, one of it that the engine does not know, and a lane.
constexpr std::uint32_t most_devices = 4, streams_each = 5;
char stream_keys[streams_each * most_devices];
void* foreign_stream(std::uint32_t device) { return &stream_keys[streams_each * device + 3]; }
void* lane_of(std::uint32_t device) { return &stream_keys[streams_each * device + 4]; }
std::uint32_t device_of(void* stream) { return static_cast<std::uint32_t>(static_cast<char*>(stream) - stream_keys) / streams_each; }
bool is_lane(void* stream) { return stream == lane_of(device_of(stream)); }
FakeDevice::Stream named(void* stream) { return {stream, device_of(stream)}; }
std::uint32_t device_of(const Memory& m) { return m.space.value - 1; }
std::string side(const Memory& m) { return m.on_host() ? "h" : "d" + (device_of(m) > 0 ? std::to_string(device_of(m)) : std::string()); }
constexpr std::uint64_t foreign_size = 6000;

Oracle* running = nullptr;  // for the end of the process: which seed, which moves

void die(const char* message) {
  std::fputs(message, stderr);
  if (running != nullptr) std::fputs(running->story().c_str(), stderr);
  std::fflush(stderr);
  std::abort();
}

std::string show(ByteRange r) { return "[" + std::to_string(r.begin) + ", " + std::to_string(r.end) + ")"; }

std::string show(const engine::Requirement& part) {
  return "; of the " + std::to_string(part.memory->bytes) + side(*part.memory) + " mode " + std::to_string(static_cast<int>(part.mode)) + " of " +
         std::to_string(part.range.columns) + " columns " + std::to_string(part.range.pitch) + " apart of " + show(part.range.column(0));
}

}  // namespace

/// Are blocks so small that an array may be larger than the budget, and moves are short all the same?
static bool small_blocks(const Oracle::Options& options) { return options.blocks && options.granularity_bytes <= page_bytes(); }

Oracle::Oracle(const Options& options)
    : options_(options), random_(options.seed), replay_([this](const std::string& text) { fail(text); }) {
  running = this;
  replay_.devices_reach_each_other = options.peer_access;
  base::set_fatal_handler(&die);
  trace_ = std::getenv("SEMCACHE_ORACLE_TRACE") != nullptr;
  Machine::Options o;
  o.device.seed = options.seed;
  o.device.kind = options.emulated ? device::DeviceKind::emulated : device::DeviceKind::cuda;
  o.device.asynchronous = !options.emulated;
  o.device.registers_host = options.registers_host;
  o.device.peer_access = options.peer_access;
  o.devices = options.devices;
  o.device.eagerness = static_cast<unsigned>(random_.below(4) * 15);
  o.device.granularity_bytes = options.granularity_bytes;
  if (options.blocks) o.device.block_bytes = options.large ? 512 * 1024 : options.granularity_bytes;
  o.platform.page_bytes = options.page_bytes;
  o.platform.mapping_limit = options.few_mappings ? 12 : 1u << 20;
  o.engine.protocol = options.protocol;
  o.engine.observer = &replay_;
  o.engine.check = options.check;
  o.engine.check_writes = options.check_writes;
  o.engine.device_faults = options.device_faults;
  o.engine.registration_bytes = options.registration_pages * options.page_bytes;
  if (options.large) {
    o.platform.arena_bytes = std::uint64_t{256} << 20;
    o.device.arena_bytes = std::uint64_t{512} << 20;
  }
  o.engine.notices = options.protocol != engine::Protocol::off;
  o.engine.device_memory_bytes =
      options.budget_bytes != 0 ? options.budget_bytes
                                : (small_blocks(options) ? 12 : std::max<std::uint64_t>(6, 96 * 1024 / options.granularity_bytes)) * options.granularity_bytes;
  machine_ = std::make_unique<Machine>(o, [this](const std::string& text) { fail(text); });
  if (!trace_) machine_->audit_every(4);
  if (trace_) {
    replay_.on_step = [this](const plan::Step& s, bool done) {
      std::fprintf(stderr, "    %s%s\n", done ? "" : "refused: ", plan::to_string(s, machine_->recorder()).c_str());
    };
  }
  machine_->written_by_host = [this](const Memory& m, ByteRange r, std::uint64_t seed) {
    replay_.program_writes(m.slot, r, [seed](std::uint64_t i) { return Machine::mix(seed, i); });
  };
  if (options.few_mappings) {
    // A whole array can always be protected: that splits nothing.
    machine_->platform().refuse_protect = [this](const std::byte* p, std::uint64_t bytes, platform::Protection) {
      const Memory* m = machine_->engine().state().find(p);
      return m != nullptr && bytes < m->bytes && random_.chance(10);
    };
  }
  foreign_ = machine_->device().allocate(foreign_size);
  foreign_bytes_.assign(foreign_size, std::byte{7});
  std::memcpy(foreign_, foreign_bytes_.data(), foreign_size);
  for (int i = 0; i < 6; ++i) new_array();
}

Oracle::~Oracle() {
  disarm();
  for (const Derived& d : derived_) machine_->engine().derivations.release(*d.derivation);
  while (!persistent_.empty()) drop_messages_of(persistent_.back().memory);
  if (!failed_) {
    while (!arrays_.empty()) {
      if (arrays_.back()->device != nullptr) free_side(arrays_.size() - 1, true);
      else free_side(arrays_.size() - 1, false);
    }
  }
  arrays_.clear();  // adopted memory ends before the engine
  machine_->device().deallocate(foreign_);
  machine_->device().may_leak = injected_ > 0;
  machine_.reset();
  running = nullptr;
}

std::string Oracle::story() const {
  std::string moves = "SEMCACHE_ORACLE_SEED=" + std::to_string(options_.seed) + ", move " + std::to_string(moves_) +
                      "; the last moves:\n";
  for (std::uint64_t i = notes_ > last_moves_.size() ? notes_ - last_moves_.size() : 0; i < notes_; ++i) {
    moves += "  " + last_moves_[i % last_moves_.size()] + "\n";
  }
  return moves;
}

void Oracle::fail(const std::string& text) {
  if (failed_) return;
  failed_ = true;
  ADD_FAILURE() << text << "\n" << story();
}

void Oracle::note(std::string text) {
  if (trace_) std::fprintf(stderr, "%s\n", text.c_str());
  last_moves_[notes_++ % last_moves_.size()] = std::to_string(moves_) + ": " + std::move(text);
}

// --- the oracle's own bytes ------------------------------------------------------------------------------------------

void Oracle::define(Array& a, ByteRange range) {
  if (a.all_defined) return;
  if (!range.empty()) std::memset(a.defined.data() + range.begin, 1, range.size());
  if (range.size() == a.bytes.size()) a.all_defined = true;
}

void Oracle::write(Array& a, ByteRange range, std::uint64_t seed) {
  for (std::uint64_t i = range.begin; i < range.end; ++i) a.bytes[i] = Machine::mix(seed, i);
  define(a, range);
}

void Oracle::write_by_kernel(Array& a, ByteRange range, std::uint64_t seed) {
  replay_.program_writes(a.device->slot, range, [seed](std::uint64_t i) { return Machine::mix(seed, i); });
  write(a, range, seed);
}

void Oracle::check(const Expected& expected, ByteRange range, const std::byte* seen, const std::string& who) {
  if (failed_ || range.empty()) return;
  if (std::memcmp(expected.bytes.data() + range.begin, seen, range.size()) == 0) return;
  for (std::uint64_t i = range.begin; i < range.end; ++i) {
    if (expected.bytes[i] == seen[i - range.begin] || expected.defined[i] == 0) continue;
    fail("I1: " + who + " sees " + std::to_string(static_cast<int>(seen[i - range.begin])) + " instead of " +
         std::to_string(static_cast<int>(expected.bytes[i])) + " at byte " + std::to_string(i) + " of " +
         std::to_string(expected.bytes.size()));
    return;
  }
}

// --- choices ---------------------------------------------------------------------------------------------------------

Oracle::Array& Oracle::pick() { return *arrays_[random_.below(arrays_.size())]; }

ByteRange Oracle::sub_range(std::uint64_t size) {
  if (size == 0) return {};
  if (random_.chance(30)) return {0, size};
  const std::uint64_t unit = random_.chance(50) ? options_.page_bytes : 1;
  std::uint64_t begin = round_down(random_.below(size), unit);
  std::uint64_t end = begin + 1 + random_.below(random_.chance(50) ? 64 : size);
  if (unit > 1) end = round_up(end, unit);
  return {begin, std::min(end, size)};
}

void* Oracle::pick_stream(std::uint32_t device) {
  if (streams_ < 3 && random_.chance(1)) ++streams_;
  return &stream_keys[streams_each * device + random_.below(streams_)];
}

std::uint32_t Oracle::pick_device() { return options_.devices == 1 ? 0 : static_cast<std::uint32_t>(random_.below(options_.devices)); }

std::uint32_t Oracle::device_for(const Memory& m) {
  return options_.devices > 1 && options_.peer_access && random_.chance(20) ? pick_device() : device_of(m);
}

bool Oracle::reaches(std::uint32_t device, const Memory& m) const { return options_.peer_access || device == device_of(m); }

void Oracle::arm() {
  const unsigned possible = options_.failing;
  unsigned calls = possible;
  if (possible != 0 && random_.chance(70)) {  // of one kind only
    do {
      calls = 1u << random_.below(14);
    } while ((calls & possible) == 0);
  }
  machine_->device().fail_call(1 + random_.below(4), calls);
}

void Oracle::disarm() { machine_->device().fail_call(0, 0); }

/// @pre a failure may be armed; none is afterwards
template <class Body>
bool Oracle::attempt_once(Body&& body) {
  const bool armed = machine_->device().failure_pending();
  bool done = true;
  try {
    body();
  } catch (const OutOfMemory&) {
    done = false;
  } catch (const Error& e) {
    done = false;
    if (!armed) fail(std::string("an error that nobody injected: ") + e.what());
  }
  if (armed && !machine_->device().failure_pending()) ++injected_;
  disarm();
  return done;
}

template <class Body>
bool Oracle::attempt(Body&& body) {
  if (options_.failures == Failures::in_turn) {
    for (std::uint64_t k = 1; !failed_; ++k) {
      machine_->device().fail_call(k, options_.failing);
      const std::uint64_t before = injected_;
      if (attempt_once(body)) return true;
      machine_->engine().audit();  // I9
      if (injected_ == before) break;
    }
  } else {
    if (options_.failures == Failures::at_random && random_.chance(25)) arm();
    if (attempt_once(body)) return true;
  }
  ++refused_;
  note("  … refused");
  return false;
}

template <class Body>
void Oracle::survive(unsigned percent, Body&& body) {
  if (options_.failures != Failures::none && random_.chance(percent)) arm();
  (void)attempt_once(body);
}

bool Oracle::adopt(void* stream, engine::QueueIndex& queue) {
  if (random_.chance(3)) {  // as if there were too many streams to follow
    queue = engine::unknown_queue;
    return true;
  }
  const bool leased = random_.chance(5);
  const auto lease = leased ? engine::Engine::Lease::one_more : engine::Engine::Lease::none;
  if (!attempt([&] { queue = machine_->engine().adopt_queue(device_of(stream), stream, {}, lease); })) return false;
  if (leased) ++leases_[stream];
  return true;
}

void Oracle::order_program(void* stream, const std::vector<Operand>& operands) { order_program(stream, Machine::touches(operands)); }

void Oracle::order_program(void* stream, const std::vector<FakeDevice::Touch>& touches) {
  // Kernels on different streams that touch one array, one of them writing: the program's own duty. Of tasks it knows nothing.
  for (const FakeDevice::Stream& other : machine_->device().unordered_kernels(stream, touches)) {
    if (is_lane(other.native)) continue;
    if (!other.destroyed && random_.chance(50)) machine_->device().synchronize_stream(other);
    else machine_->order_behind(stream, other);
  }
}

// --- moves -----------------------------------------------------------------------------------------------------------

void Oracle::new_array() {
  const std::uint64_t page = options_.page_bytes;
  const std::uint64_t granule = options_.granularity_bytes;
  const std::uint64_t sizes[] = {0, 1, 100, page - 1, page, page + 1, 3 * page + 17, 5 * page, granule, granule + 13,
                                 2 * granule + page / 2, 3 * granule, small_blocks(options_) ? 14 * granule : 2 * page};
  constexpr std::uint64_t huge = engine::LookupTable::granule_bytes;
  const std::uint64_t large_sizes[] = {page, huge / 2, huge - 1, huge, huge + page + 1, 2 * huge, 5 * huge / 2};
  const std::uint64_t size = options_.large ? large_sizes[random_.below(std::size(large_sizes))]
                                            : sizes[random_.below(std::size(sizes))];
  if (options_.adopts && random_.chance(35)) return new_lent_array(std::max(round_down(size, page), page));
  const unsigned kind = static_cast<unsigned>(random_.below(3));
  auto a = std::make_unique<Array>();
  a->bytes.resize(size);
  a->defined.resize(size);
  a->all_defined = size == 0;
  const std::string label = "array" + std::to_string(arrays_.size());
  note("new array " + std::to_string(arrays_.size()) + " of " + std::to_string(size) + " bytes, kind " + std::to_string(kind));
  if (kind != 1) a->device = machine_->engine().lifetimes.allocate_device(pick_device(), label.c_str(), size);
  if (kind != 0) a->host = machine_->engine().lifetimes.allocate_host((label + "_h").c_str(), size, a->device);
  arrays_.push_back(std::move(a));
}

void Oracle::new_lent_array(std::uint64_t body_bytes) {
  const std::uint64_t page = options_.page_bytes;
  const std::uint64_t edges[] = {0, 1, 100, page - 1};
  const std::uint64_t front = edges[random_.below(4)], behind = edges[random_.below(4)];
  note("adopt " + std::to_string(front) + " + " + std::to_string(body_bytes) + " + " + std::to_string(behind) + " bytes");
  auto a = std::make_unique<Array>();
  const std::string label = "adopted" + std::to_string(arrays_.size());
  a->lent = std::make_unique<LentBlock>(*machine_, front + body_bytes + behind, front, label.c_str());
  note_lent(*a, std::byte{0x5a});
  arrays_.push_back(std::move(a));
}

void Oracle::note_lent(Array& a, std::byte byte) {
  a.host = a.lent->body();
  a.bytes.assign(a.host->bytes, byte);
  a.defined.assign(a.host->bytes, 1);
  a.all_defined = true;
  a.edges.assign(a.lent->bytes(), byte);
  a.edges_defined.assign(a.lent->bytes(), 1);
  replay_.program_writes(a.host->slot, a.host->all(), [byte](std::uint64_t) { return byte; });
}

/// Ends the adoption. What the program does to its memory afterwards concerns nobody; half of the times it adopts the memory again.
void Oracle::release_lent(std::size_t index) {
  Array& a = *arrays_[index];
  note("release " + std::to_string(a.lent->bytes()) + " adopted bytes");
  while (!a.parts.empty()) free_part(a);
  drop_messages_of(a.host);
  machine_->engine().tiles.leave(*a.host);
  if (!attempt([&] { a.lent->release(); })) return;
  a.host = nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(a.lent->address());
  const std::byte* const body = a.lent->address() + (round_up(begin, options_.page_bytes) - begin);
  check(expect(a), {0, a.bytes.size()}, body, "the program, after a release,");
  std::memset(a.lent->address(), 0x77, a.lent->bytes());
  if (failed_ || random_.chance(50)) {
    arrays_.erase(arrays_.begin() + static_cast<std::ptrdiff_t>(index));
    return;
  }
  a.lent->adopt_again();
  note_lent(a, std::byte{0x77});
}

/// The program reads and writes its memory where it is not protected.
void Oracle::use_edges() {
  Array& a = pick();
  if (a.lent == nullptr) return;
  const Part all{&a, true};
  note("the program uses the edges of " + std::to_string(all.size()) + " adopted bytes");
  const std::uint64_t seed = next_seed_++;
  for (std::uint64_t i = 0; i < all.size() && !failed_; ++i) {
    if (!all.in_edge(i)) continue;
    if (all.defined(i) != 0 && a.lent->address()[i] != all.byte(i)) {
      fail("I1: an edge of adopted memory is wrong at byte " + std::to_string(i));
    }
    if (random_.chance(70)) continue;
    a.lent->address()[i] = all.byte(i) = Machine::mix(seed, i);
    all.defined(i) = 1;
  }
}

/// A copy to or from adopted memory, edges included.
void Oracle::copy_with_edges() {
  Array& a = pick();
  Array& b = pick();
  if (a.lent == nullptr || &a == &b) return;
  Part to{&a, true}, from{&b, b.lent != nullptr && random_.chance(50)};
  if (random_.chance(50)) std::swap(to, from);
  const auto address = [&](const Part& p) {
    if (p.with_edges) return p.array->lent->address();
    return (p.array->device != nullptr && (p.array->host == nullptr || random_.chance(50)) ? p.array->device : p.array->host)->address;
  };
  const std::uint64_t most = std::min(to.size(), from.size());
  if (most == 0) return;
  std::uint64_t width = 1 + random_.below(most), columns = 1, to_pitch = width, from_pitch = width;
  if (random_.chance(25) && most > 400) {
    width = 1 + random_.below(random_.chance(50) ? 64 : most / 4);
    const auto any_pitch = [&] { return width + random_.below(random_.chance(50) ? 64 : most / 4); };
    to_pitch = from_pitch = any_pitch();
    if (random_.chance(40)) from_pitch = any_pitch();
    columns = std::min<std::uint64_t>(1 + (most - width) / std::max(to_pitch, from_pitch), options_.failures == Failures::in_turn ? 6 : 100);
  }
  const auto place = [&](const Part& p, std::uint64_t pitch) {
    const std::uint64_t hull = (columns - 1) * pitch + width;
    return random_.chance(30) ? 0 : random_.below(p.size() - hull + 1);
  };
  const std::uint64_t to_at = place(to, to_pitch), from_at = place(from, from_pitch);
  const auto text = [](const Part& p, std::uint64_t at, std::uint64_t pitch) {
    return std::to_string(p.size()) + (p.with_edges ? " adopted" : "") + "@" + std::to_string(at) + " apart " + std::to_string(pitch);
  };
  note("copy " + std::to_string(columns) + " columns of " + std::to_string(width) + " bytes to " + text(to, to_at, to_pitch) + " from " +
       text(from, from_at, from_pitch));
  std::byte* const target = address(to);
  const std::byte* const source = address(from);
  const bool done = attempt([&] { machine_->engine().copies.copy(target + to_at, source + from_at, {width, columns, to_pitch, from_pitch}); });
  for (std::uint64_t c = 0; c < columns; ++c) {
    const std::uint64_t target_column = to_at + c * to_pitch, source_column = from_at + c * from_pitch;
    for (std::uint64_t i = 0; i < width; ++i) {
      to.byte(target_column + i) = from.byte(source_column + i);
      to.defined(target_column + i) = done ? from.defined(source_column + i) : 0;
    }
  }
  to.array->all_defined = false;
}

void Oracle::free_side(std::size_t index, bool device) {
  Array& a = *arrays_[index];
  if (a.lent != nullptr) return release_lent(index);
  note(std::string("free the ") + (device ? "device" : "host") + " side of " + std::to_string(a.bytes.size()) + " bytes");
  if (options_.failures != Failures::none && random_.chance(20)) {
    machine_->device().fail_call(1 + random_.below(2), FakeDevice::call_map);
  }
  Memory*& side = device ? a.device : a.host;
  if (a.device == nullptr || a.host == nullptr) {
    while (!a.parts.empty()) free_part(a);
  }
  drop_messages_of(side);
  machine_->engine().tiles.leave(*side);
  machine_->engine().lifetimes.deallocate(side);
  disarm();
  side = nullptr;
  if (a.device == nullptr && a.host == nullptr) arrays_.erase(arrays_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Oracle::host_read() {
  Array& a = pick();
  if (a.host == nullptr) return;
  const ByteRange r = sub_range(a.bytes.size());
  note("host reads " + show(r) + " of " + std::to_string(a.bytes.size()));
  if (options_.protocol == engine::Protocol::off &&
      !attempt([&] { machine_->engine().access(*a.host, r, Access::read); })) {
    return;
  }
  std::vector<std::byte> seen(r.size());
  machine_->unknown_faults(random_.chance(30));
  machine_->host_read(*a.host, r, seen.data());
  check(expect(a), r, seen.data(), "the host");
}

void Oracle::host_write() {
  Array& a = pick();
  if (a.host == nullptr) return;
  const ByteRange r = sub_range(a.bytes.size());
  note("host writes " + show(r) + " of " + std::to_string(a.bytes.size()));
  if (options_.protocol == engine::Protocol::off &&
      !attempt([&] { machine_->engine().access(*a.host, r, Access::write); })) {
    return;
  }
  const std::uint64_t seed = next_seed_++;
  machine_->unknown_faults(random_.chance(30));
  machine_->host_write(*a.host, r, seed);
  write(a, r, seed);
}

void Oracle::raw_use() {
  Array& a = pick();
  if (a.device == nullptr) return;
  const ByteRange r = sub_range(a.bytes.size());
  const bool writes = random_.chance(50);
  note(std::string("the host ") + (writes ? "writes " : "reads ") + show(r) + " of the device's " + std::to_string(a.bytes.size()));
  const std::uint64_t seed = next_seed_++;
  machine_->unknown_faults(random_.chance(30));
  std::vector<std::byte> seen(r.size());
  machine_->host_read(*a.device, r, seen.data());
  check(expect(a), r, seen.data(), "the host, past the device,");
  if (!writes) return;
  machine_->host_write(*a.device, r, seed);
  write(a, r, seed);
}

void Oracle::announced_access() {
  Array& a = pick();
  if (a.host == nullptr) return;
  const std::uint64_t size = a.bytes.size(), page = page_bytes();
  Region where = sub_range(size);
  if (size >= 4 * page && random_.chance(30)) {
    const std::uint64_t pitch = (2 + random_.below(2)) * page, begin = random_.below(pitch), width = 1 + random_.below(pitch);
    if (begin + width <= size) where = Region(begin, width, 1 + (size - begin - width) / pitch, pitch);
  }
  const auto mode = static_cast<Access>(random_.below(4));
  note("host announces mode " + std::to_string(static_cast<int>(mode)) + " of " + std::to_string(where.columns) + " columns of " +
       show(where.column(0)) + " of " + std::to_string(size));
  if (!attempt([&] { machine_->engine().access(*a.host, where, mode); })) return;
  const std::uint64_t before = machine_->faults;
  for (std::uint64_t c = 0; c < where.columns && needs_content(mode); ++c) {
    const ByteRange r = where.column(c);
    std::vector<std::byte> seen(r.size());
    machine_->host_read(*a.host, r, seen.data());
    check(expect(a), r, seen.data(), "the host after announcing");
  }
  const bool all = mode == Access::overwrite || random_.chance(50);
  for (std::uint64_t c = 0; c < where.columns && writes(mode); ++c) {
    const ByteRange r = where.column(c);
    const ByteRange part = all ? r : intersect(r, {r.begin + r.size() / 3, r.end});
    const std::uint64_t seed = next_seed_++;
    machine_->host_write(*a.host, part, seed);
    write(a, part, seed);
  }
  if (machine_->faults != before) fail("an announced access faulted");
}

std::function<void()> Oracle::kernel_body(std::vector<Operand> operands, std::vector<Expected> expected,
                                          std::vector<Machine::Write> writes, std::string name) {
  std::vector<std::byte*> bases;
  for (const Operand& o : operands) bases.push_back(o.memory->address);
  return [this, bases = std::move(bases), expected = std::move(expected), writes = std::move(writes), name = std::move(name)] {
    for (std::size_t i = 0; i < bases.size(); ++i) {
      check(expected[i], {0, expected[i].bytes.size()}, bases[i], name + ", operand " + std::to_string(i) + ",");
    }
    for (const Machine::Write& w : writes) {
      for (std::uint64_t at = w.range.begin; at < w.range.end; ++at) bases[w.operand][at] = Machine::mix(w.seed, at);
    }
  };
}

Oracle::Array* Oracle::launch(Launched how, Array* with, void* on) {
  const bool unknown = how == Launched::unknown, task = how == Launched::task;
  std::vector<Array*> set;
  std::vector<Operand> operands;
  const std::uint32_t device = on != nullptr ? device_of(on) : pick_device();
  for (const auto& a : arrays_) {
    if (a->device == nullptr || !reaches(device, *a->device)) continue;
    if (a.get() == with) {
      set.push_back(with);
      operands.push_back({with->device, random_.chance(40)});
      continue;
    }
    // An unknown kernel, too, uses some arrays only, because the program's own order would hide what the engine must order.
    if (unknown ? random_.chance(60) : device_of(*a->device) != device && random_.chance(70)) continue;
    if ((!unknown && (set.size() >= 3 || !random_.chance(30)))) continue;
    set.push_back(a.get());
    operands.push_back({a->device, random_.chance(40)});
  }
  if (!unknown && operands.size() > 1 && random_.chance(50)) {
    std::swap(operands.front(), operands.back());
    std::swap(set.front(), set.back());
  }
  void* const stream = on != nullptr ? on : task ? lane_of(device) : pick_stream(device);
  std::string text = "move " + std::to_string(moves_) + (unknown ? ": an unknown kernel" : task ? ": a task" : ": a kernel") + " on stream " +
                     std::to_string(static_cast<char*>(stream) - stream_keys) + " of";
  for (std::size_t i = 0; i < set.size(); ++i) {
    text += " " + std::to_string(set[i]->bytes.size()) + side(*operands[i].memory) + (operands[i].writable ? "w" : "r");
  }
  std::vector<engine::Requirement> parts;
  if (!unknown && random_.chance(50)) parts = random_parts(operands);
  for (const engine::Requirement& part : parts) text += show(part);
  note(text);
  engine::QueueIndex queue = engine::unknown_queue;
  if (!task && !adopt(stream, queue)) return nullptr;
  if (task && (!attempt([&] { queue = machine_->engine().adopt_lane(device, stream, {}); }) || queue == engine::unknown_queue)) return nullptr;
  const std::vector<FakeDevice::Touch> touches = parts.empty() ? Machine::touches(operands) : Machine::touches(operands, parts);
  if (!task) order_program(stream, touches);
  std::vector<Operand> pinned = operands;
  std::vector<engine::Requirement> used = parts;  // the engine may enlarge them
  bool in_part = false;
  if (!attempt([&] {
        if (unknown) machine_->engine().launches.begin_unknown_launch(queue, pinned);
        else in_part = machine_->engine().launches.begin_launch(queue, operands.data(), operands.size(), {used.data(), used.size()});
      })) {
    for (const engine::Requirement& part : parts) forget_overwritten(*set[index_of(operands, part)], {part});
    return nullptr;
  }
  std::vector<Expected> expected;
  std::vector<Machine::Write> writes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    expected.push_back(expect(*set[i]));
    const bool whole = std::none_of(parts.begin(), parts.end(), [&](const auto& part) { return part.memory == operands[i].memory; });
    if (!whole) expect_parts(expected.back(), *operands[i].memory, parts);
    if (!operands[i].writable || !whole) continue;
    for (std::uint64_t n = random_.below(3); n > 0; --n) {
      writes.push_back({i, sub_range(set[i]->bytes.size()), next_seed_++});
    }
  }
  for (const Machine::Write& w : writes_of_parts(operands, parts)) writes.push_back(w);
  const engine::Clock before = machine_->engine().launches.submitted_before(queue);
  machine_->device().launch(named(stream), touches, kernel_body(operands, std::move(expected), writes, text));
  const bool awaited = !task && random_.chance(20);
  if (awaited) machine_->device().synchronize_stream(stream);
  for (const Machine::Write& w : writes) write_by_kernel(*set[w.operand], w.range, w.seed);
  std::uint64_t number = 0;
  survive(2, [&] {
    number = machine_->engine().launches.end_launch(queue, pinned.data(), pinned.size(), all_devices,
                                                    {used.data(), in_part ? used.size() : 0});
  });
  if (awaited) machine_->engine().launches.launch_awaited(queue, before, number);
  return writes.empty() ? nullptr : set[writes.back().operand];
}

/// A task of a library call that uses arrays themselves. What it has written is often used next, on a stream that is new to the engine: it is
/// the engine that orders both.
void Oracle::task() {
  Array* const written = launch(Launched::task);
  if (written == nullptr || failed_ || random_.chance(20)) return;
  if (random_.chance(30)) (void)launch(Launched::known, written);  // so that the program's queues are ordered behind the task, perhaps all of them
  const std::uint32_t device = device_for(*written->device);
  void* const stream = random_.chance(60) ? pick_stream(device) : foreign_stream(device);
  destroy_stream(stream);
  if (random_.chance(50)) (void)launch(Launched::known, written, stream);
  else foreign_call(written, stream);
}

std::vector<engine::Requirement> Oracle::random_parts(const std::vector<Operand>& operands) {
  std::vector<engine::Requirement> parts;
  for (const Operand& o : operands) {
    const std::uint64_t size = o.memory->bytes;
    if (size == 0 || random_.chance(30)) continue;  // used as a whole
    const bool one_writes = o.writable && random_.chance(50);  // the last part does, and the others only read
    const std::uint64_t count = 1 + random_.below(3);
    for (std::uint64_t n = 0; n < count; ++n) {
      Region where = sub_range(size);
      if (size >= 100 && random_.chance(40)) {
        const std::uint64_t pitch = random_.chance(50) ? 2 * options_.page_bytes : 1 + size / (2 + random_.below(most_columns()));
        const std::uint64_t width = 1 + random_.below(pitch), begin = random_.below(pitch);
        if (begin + width <= size) where = Region(begin, width, 1 + (size - begin - width) / pitch, pitch);
      }
      const bool writes = o.writable && (!one_writes || n + 1 == count);
      parts.push_back({o.memory, where, writes ? static_cast<Access>(1 + random_.below(3)) : Access::read});
    }
  }
  // As the runtime does it: what is overwritten comes last.
  std::stable_partition(parts.begin(), parts.end(), [](const auto& part) { return part.mode != Access::overwrite; });
  return parts;
}

std::vector<Machine::Write> Oracle::writes_of_parts(const std::vector<Operand>& operands, const std::vector<engine::Requirement>& parts) {
  std::vector<Machine::Write> writes;
  for (const engine::Requirement& part : parts) {
    for (std::uint64_t c = 0; c < part.range.columns && semcache::writes(part.mode); ++c) {
      const ByteRange column = part.range.column(c);
      const ByteRange written = part.mode == Access::overwrite ? column : intersect(column, {column.begin + random_.below(column.size()), column.end});
      writes.push_back({index_of(operands, part), written, next_seed_++});
    }
  }
  return writes;
}

/// The parts that a refused launch was to overwrite may hold anything.
void Oracle::forget_overwritten(Array& a, const std::vector<engine::Requirement>& parts) {
  for (const engine::Requirement& part : parts) {
    for (std::uint64_t c = 0; c < part.range.columns && part.mode == Access::overwrite; ++c) forget(a, part.range.column(c));
  }
}

std::size_t Oracle::index_of(const std::vector<Operand>& operands, const engine::Requirement& part) {
  std::size_t i = 0;
  while (operands[i].memory != part.memory) ++i;
  return i;
}

/// Leaves only what the kernel reads of an operand that it uses in part.
void Oracle::expect_parts(Expected& expected, const Memory& m, const std::vector<engine::Requirement>& parts) {
  std::vector<std::uint8_t> read(expected.defined.size(), std::uint8_t{0});
  for (const engine::Requirement& part : parts) {
    for (std::uint64_t c = 0; c < part.range.columns && part.memory == &m && needs_content(part.mode); ++c) {
      const ByteRange r = part.range.column(c);
      std::fill_n(read.begin() + static_cast<std::ptrdiff_t>(r.begin), r.size(), std::uint8_t{1});
    }
  }
  for (std::size_t i = 0; i < read.size(); ++i) expected.defined[i] = expected.defined[i] & read[i];
}

void Oracle::native_launch() {
  Array& a = pick();
  if (a.device == nullptr) return;
  const bool writable = random_.chance(50);
  const std::vector<Operand> operands{{a.device, writable}};
  std::vector<engine::Requirement> parts;  // announced one after the other
  if (random_.chance(50)) parts = random_parts(operands);
  if (parts.empty() && !a.bytes.empty() && writable && random_.chance(30)) parts.push_back({a.device, a.device->all(), Access::overwrite});
  std::string text = "move " + std::to_string(moves_) + ": a native kernel of " + std::to_string(a.bytes.size()) + (writable ? "w" : "r");
  for (const engine::Requirement& part : parts) text += show(part);
  note(text);
  void* const stream = foreign_stream(device_for(*a.device));
  const std::vector<FakeDevice::Touch> touches = parts.empty() ? Machine::touches(operands) : Machine::touches(operands, parts);
  order_program(stream, touches);
  if (parts.empty() && !attempt([&] { machine_->engine().foreign_uses.native_capture(*a.device, timeline::mode_of(writable)); })) return;
  std::vector<Expected> expected{expect(a)};
  for (const engine::Requirement& part : parts) {
    if (!attempt([&] { machine_->engine().access(*a.device, part.range, part.mode); })) return forget_overwritten(a, parts);
  }
  std::vector<Machine::Write> writes;
  if (!parts.empty()) {
    expect_parts(expected.back(), *a.device, parts);
    writes = writes_of_parts(operands, parts);
  } else if (writable) {
    writes.push_back({0, sub_range(a.bytes.size()), next_seed_++});
  }
  if (a.bytes.empty()) return;
  if (options_.device_faults && !std::all_of(parts.begin(), parts.end(), [this](const auto& part) { return is_open(part); })) {
    return use_by_faults(a, expected.back(), parts, writes);
  }
  machine_->device().launch(named(stream), touches, kernel_body(operands, std::move(expected), writes, text));
  for (const Machine::Write& w : writes) write_by_kernel(a, w.range, w.seed);
}

/// Is announced guarded memory mapped and open? It is, unless the array is larger than the budget: then one part gives way to the next.
bool Oracle::is_open(const engine::Requirement& part) {
  const engine::Memory& m = *part.memory;
  if (m.bytes <= machine_->engine().state().device_of(m).memory->budget_bytes()) return true;
  if (!engine::State::is_resident(m, part.range)) return false;
  const platform::Protection needed = writes(part.mode) ? platform::Protection::read_write : platform::Protection::read;
  for (std::uint64_t c = 0; c < part.range.columns; ++c) {
    const ByteRange column = part.range.column(c);
    for (std::uint64_t at = round_down(column.begin, options_.page_bytes); at < column.end; at += options_.page_bytes) {
      if (machine_->platform().protection(m.address + at) < needed) return false;
    }
  }
  return true;
}

/// A kernel of an emulated device, of which not all announced parts are open. Its uses are noticed one by one.
void Oracle::use_by_faults(Array& a, const Expected& expected, const std::vector<engine::Requirement>& parts,
                           const std::vector<Machine::Write>& writes) {
  std::vector<std::byte> seen(a.bytes.size());
  for (const engine::Requirement& part : parts) {
    for (std::uint64_t c = 0; c < part.range.columns && needs_content(part.mode); ++c) {
      const ByteRange column = part.range.column(c);
      machine_->host_read(*a.device, column, seen.data());
      check(expected, column, seen.data(), "a kernel without room");
    }
  }
  for (const Machine::Write& w : writes) {
    machine_->host_write(*a.device, w.range, w.seed);
    write(a, w.range, w.seed);
  }
}

/// A raw kernel or a copy of the driver's that nobody announced, of one or two arrays.
void Oracle::foreign_call(Array* with, void* on) {
  std::vector<Array*> set;
  if (with != nullptr) set.push_back(with);
  for (std::uint64_t n = 1 + random_.below(2); n > 0; --n) {
    Array& a = pick();
    if (a.device == nullptr || a.bytes.empty() || std::find(set.begin(), set.end(), &a) != set.end()) continue;
    if (set.empty() || reaches(device_of(*set.front()->device), *a.device)) set.push_back(&a);
  }
  if (set.empty()) return;
  const bool kernel = on != nullptr || random_.chance(60);
  std::vector<device::DriverUse> uses;
  std::vector<Operand> operands;
  std::vector<engine::Requirement> parts;  // a copy uses these bytes alone
  std::string text = "move " + std::to_string(moves_) + (kernel ? ": a raw kernel of" : ": a driver's copy of");
  for (Array* a : set) {
    // A kernel that writes what the announcement of an earlier one does not name is an error of the program. An announcement of parts is
    // believed about kernels that are given an address in one of them.
    const ByteRange r = sub_range(a->bytes.size());
    const auto& announced = a->device->announced_use;
    const auto is_given = [&](const auto& part) { return r.begin >= part.where.begin && r.begin < part.where.end(); };
    const bool told = announced.at != 0 && announced.at == a->device->recently &&
                      (announced.in_part ? std::any_of(a->device->in_part->announced.begin(), a->device->in_part->announced.end(), is_given)
                                         : !announced.writes);
    const bool writable = kernel ? !told && random_.chance(50) : a == set.back();
    const auto kind = kernel ? device::DriverUse::Kind::argument
                             : (writable ? device::DriverUse::Kind::write : device::DriverUse::Kind::read);
    uses.push_back({a->device->address + r.begin, kernel ? 0u : r.size(), kind, 0});
    operands.push_back({a->device, writable});
    if (!kernel) parts.push_back({a->device, r, writable ? Access::read_write : Access::read});
    text += " " + std::to_string(a->bytes.size()) + (writable ? "w" : "r") + (kernel ? "" : show(r));
  }
  note(text);
  const std::uint32_t device = on != nullptr ? device_of(on) : device_for(*set.front()->device);
  engine::QueueIndex queue = engine::unknown_queue;  // of kernels the stream may be known, or only its device
  const bool known = kernel && (on != nullptr || random_.chance(60));
  DeviceSet devices = kernel && random_.chance(50) ? DeviceSet{1} << device : all_devices;
  void* const stream = on != nullptr ? on : known && random_.chance(50) ? pick_stream(device) : foreign_stream(device);
  const std::vector<FakeDevice::Touch> touches = kernel ? Machine::touches(operands) : Machine::touches(operands, parts);
  order_program(stream, touches);
  if (known) {
    (void)machine_->device().stream(named(stream));  // so that it is certain whose stream it is
    queue = machine_->engine().queue_of_others(stream);
  }
  std::unique_ptr<engine::ForeignCall> call;
  if (!attempt([&] {
        const auto kind = kernel ? engine::ForeignCall::Kind::launch : engine::ForeignCall::Kind::transfer;
        const engine::ForeignStream where{queue, known ? stream : nullptr, devices};
        call = machine_->engine().foreign_uses.begin_foreign_call(uses.data(), uses.size(), kind, where);
      })) {
    return;
  }
  std::vector<Expected> expected;
  std::vector<Machine::Write> writes = writes_of_parts(operands, parts);
  // A kernel that would need more memory than there is uses the announced blocks alone.
  std::vector<engine::Requirement> confined;
  for (const auto& use : call->uses) {
    if (use.confined) confined.insert(confined.end(), use.parts.begin(), use.parts.end());
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    expected.push_back(expect(*set[i]));
    const bool in_part = std::any_of(confined.begin(), confined.end(), [&](const auto& part) { return part.memory == operands[i].memory; });
    if (in_part) expect_parts(expected.back(), *operands[i].memory, confined);
    if (!kernel) expect_parts(expected.back(), *operands[i].memory, parts);
    else if (operands[i].writable) writes.push_back({i, sub_range(set[i]->bytes.size()), next_seed_++});
  }
  machine_->device().launch(named(stream), confined.empty() ? touches : Machine::touches(operands, confined),
                            kernel_body(operands, std::move(expected), writes, text));
  for (const Machine::Write& w : writes) write_by_kernel(*set[w.operand], w.range, w.seed);
  machine_->engine().foreign_uses.end_foreign_call(std::move(call));
}

namespace {
directory::Fill random_pattern(Random& random) {
  directory::Fill fill;
  fill.pattern_bytes = 1u << random.below(5);
  const bool zero = random.chance(40);
  for (std::uint32_t i = 0; i < fill.pattern_bytes; ++i) {
    fill.pattern[i] = zero ? std::uint8_t{0} : static_cast<std::uint8_t>(random.next());
  }
  return fill;
}
}  // namespace

void Oracle::free_part(Array& a) {
  machine_->engine().lifetimes.deallocate(a.parts.back());
  a.parts.pop_back();
}

/// Where a part's memory has a position of the array.
static std::uint64_t in_part(const Region& where, std::uint64_t at) {
  at -= where.begin;
  return where.is_range() ? at : at / where.pitch * where.width + at % where.pitch;
}

/// Several moves, because parts are to be used often while they last.
void Oracle::use_parts() {
  for (std::uint64_t n = 1 + random_.below(8); n > 0 && !failed_; --n) use_part();
}

/// Returns a rectangle of a part.
Region Oracle::rectangle_of(const Region& where) {
  if (where.is_range()) {
    if (where.width < 16 || random_.chance(60)) {
      const ByteRange r = sub_range(where.width);
      return Region(r).moved(static_cast<std::int64_t>(where.begin));
    }
    const std::uint64_t pitch = 2 + random_.below(where.width / 4), width = 1 + random_.below(pitch), begin = random_.below(pitch);
    if (begin + width > where.width) return where;
    return {where.begin + begin, width, 1 + random_.below(1 + (where.width - begin - width) / pitch), pitch};
  }
  const std::uint64_t row = random_.below(where.width), column = random_.below(where.columns);
  return {where.begin + column * where.pitch + row, 1 + random_.below(where.width - row), 1 + random_.below(where.columns - column), where.pitch};
}

/// A part of an array, with memory of its own on some device, which a kernel uses.
void Oracle::use_part() {
  Array& a = pick();
  const std::uint64_t size = a.bytes.size();
  if (size == 0 || options_.protocol == engine::Protocol::off) return;
  Memory& side = a.device != nullptr ? *a.device : *a.host;
  const auto random_part = [&] {
    Region where = sub_range(size);
    if (size >= 100 && random_.chance(60)) {
      const std::uint64_t pitch = random_.chance(50) ? 2 * options_.page_bytes : 1 + size / (2 + random_.below(most_columns()));
      const std::uint64_t width = 1 + random_.below(pitch), begin = random_.below(pitch);
      if (begin + width <= size) where = Region(begin, width, 1 + (size - begin - width) / pitch, pitch);
    }
    return where;
  };
  if (!side.open && random_.chance(40)) {  // a tile, which may be there from an earlier move
    const Region where = a.last_tile.empty() || a.last_tile.end() > size || random_.chance(30) ? random_part() : a.last_tile;
    a.last_tile = where;
    const std::uint32_t device = pick_device();
    note("a tile of " + std::to_string(where.columns) + " columns of " + show(where.column(0)) + " " + std::to_string(where.pitch) +
         " apart of " + std::to_string(size) + " on device " + std::to_string(device));
    Memory* tile = nullptr;
    if (!attempt([&] { tile = &machine_->engine().tiles.acquire(device, side, where); })) return;
    use_device_part(a, *tile, random_.chance(70) ? where : rectangle_of(where));
    machine_->engine().tiles.release(*tile);
    return;
  }
  if (a.parts.size() < 3 && !side.open && random_.chance(30)) {
    const Region where = random_part();
    note("a part of " + std::to_string(where.columns) + " columns of " + show(where.column(0)) + " " + std::to_string(where.pitch) +
         " apart of " + std::to_string(size));
    const std::uint32_t device = pick_device();
    const bool on_host = random_.chance(40);
    (void)attempt([&] {
      engine::Lifetimes& lifetimes = machine_->engine().lifetimes;
      a.parts.push_back(on_host ? lifetimes.allocate_host_part(side, where) : lifetimes.allocate_part(device, side, where));
    });
    return;
  }
  if (a.parts.empty()) return;
  if (random_.chance(8)) {
    note("a part of " + std::to_string(size) + " is freed");
    return free_part(a);
  }
  std::swap(a.parts.front(), a.parts.back());
  Memory& m = *a.parts.back();
  if (m.on_host()) return use_host_part(a, m, static_cast<Access>(random_.below(4)));
  use_device_part(a, m, random_.chance(60) ? m.layout : rectangle_of(m.layout));
}

/// A kernel, or a task of a library call, uses a rectangle of a part, or of a tile.
void Oracle::use_device_part(Array& a, Memory& m, const Region& where) {
  const std::uint64_t size = a.bytes.size();
  const auto mode = static_cast<Access>(random_.below(4));
  const std::vector<engine::Requirement> used{{&m, where, mode}};
  std::vector<engine::Requirement> parts = used;  // the engine may enlarge it
  const std::vector<Operand> operands{{&m, writes(mode)}};
  const bool task = random_.chance(50);
  const std::string text = "move " + std::to_string(moves_) + (task ? ": a task" : ": a kernel") + " of a part of " + std::to_string(size) +
                           ::semcache::fakes::show(parts[0]);
  note(text);
  const std::uint32_t device = device_of(m);
  void* const stream = task ? lane_of(device) : pick_stream(device);
  engine::QueueIndex queue = engine::unknown_queue;
  if (!task && !adopt(stream, queue)) return;
  if (task && (!attempt([&] { queue = machine_->engine().adopt_lane(device, stream, {}); }) || queue == engine::unknown_queue)) return;
  std::vector<FakeDevice::Touch> touches;
  for (std::uint64_t c = 0; c < where.columns; ++c) {
    touches.push_back({m.address + in_part(m.layout, where.column(c).begin), where.width, writes(mode)});
  }
  if (!task) order_program(stream, touches);
  bool partly = false;
  if (!attempt([&] { partly = machine_->engine().launches.begin_launch(queue, operands.data(), 1, {parts.data(), 1}); })) {
    forget_overwritten(a, used);
    return;
  }
  Expected expected = expect(a);
  if (!needs_content(mode)) std::fill(expected.defined.begin(), expected.defined.end(), std::uint8_t{0});
  std::vector<Machine::Write> writes = writes_of_parts(operands, used);
  machine_->device().launch(named(stream), touches, [this, base = m.address, layout = m.layout, where, expected, writes, text] {
    const auto memory_of = [&](std::uint64_t at) { return base + in_part(layout, at); };
    for (std::uint64_t c = 0; c < where.columns; ++c) check(expected, where.column(c), memory_of(where.column(c).begin), text);
    for (const Machine::Write& w : writes) {
      for (std::uint64_t at = w.range.begin; at < w.range.end; ++at) *memory_of(at) = Machine::mix(w.seed, at);
    }
  });
  for (const Machine::Write& w : writes) {
    const std::uint64_t in_memory = in_part(m.layout, w.range.begin);
    replay_.program_writes(m.slot, {in_memory, in_memory + w.range.size()},
                           [&](std::uint64_t i) { return Machine::mix(w.seed, i - in_memory + w.range.begin); });
    write(a, w.range, w.seed);
  }
  survive(2, [&] { machine_->engine().launches.end_launch(queue, operands.data(), 1, all_devices, {parts.data(), partly ? 1u : 0u}); });
}

/// The host's processor works with a part on the host, perhaps until after the part has been freed.
void Oracle::use_host_part(Array& a, Memory& m, Access mode) {
  const engine::Requirement use{&m, m.layout, mode};
  note("the host uses a part of " + std::to_string(a.bytes.size()) + ::semcache::fakes::show(use));
  if (!attempt([&] { machine_->engine().host_uses.begin(&use, 1); })) return;
  const Region where = m.layout;
  machine_->device().check_host_access(m.address, m.bytes, writes(mode));
  for (std::uint64_t c = 0; c < where.columns && needs_content(mode); ++c) {
    check(expect(a), where.column(c), m.address + in_part(where, where.column(c).begin), "the host, in a part,");
  }
  for (const Machine::Write& w : writes_of_parts({{&m, writes(mode)}}, {use})) {
    const std::uint64_t begin = in_part(where, w.range.begin);
    for (std::uint64_t at = w.range.begin; at < w.range.end; ++at) m.address[in_part(where, at)] = Machine::mix(w.seed, at);
    replay_.program_writes(m.slot, {begin, begin + w.range.size()}, [&](std::uint64_t i) { return Machine::mix(w.seed, i - begin + w.range.begin); });
    write(a, w.range, w.seed);
  }
  if (random_.chance(5)) {
    note("which is freed meanwhile");
    free_part(a);
  }
  survive(5, [&] { machine_->engine().host_uses.end(&use, 1); });
}

/// A value that is derived from a part of an array: each byte turned by a parameter. It is computed where it is not found.
void Oracle::derive() {
  if (!derived_.empty() && random_.chance(40)) {  // a value that has been in use for a while
    const std::size_t i = random_.below(derived_.size());
    note("a derived value of " + std::to_string(derived_[i].bytes.size()) + " bytes is used again");
    read_derived(derived_[i]);
    if (random_.chance(60)) {
      machine_->engine().derivations.release(*derived_[i].derivation);
      derived_.erase(derived_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return;
  }
  // Often the same as before, so that it is found unless its input has changed.
  const auto former = std::find_if(arrays_.begin(), arrays_.end(), [&](const auto& array) { return array->device == derived_from_; });
  const bool same = former != arrays_.end() && derived_from_ != nullptr && derived_range_.end <= (*former)->bytes.size() && random_.chance(80);
  Array& a = same ? **former : pick();
  if (a.device == nullptr) return;
  const ByteRange r = same ? derived_range_ : random_.chance(50) ? ByteRange{0, a.bytes.size()} : sub_range(a.bytes.size());
  derived_from_ = a.device;
  derived_range_ = r;
  if (random_.chance(70)) derive_in_ = 1 + random_.below(4);
  const bool known = std::all_of(a.defined.begin() + static_cast<std::ptrdiff_t>(r.begin), a.defined.begin() + static_cast<std::ptrdiff_t>(r.end),
                                 [](std::uint8_t d) { return d != 0; });
  if (r.empty() || !known) return;
  const std::uint32_t device = device_for(*a.device);
  const auto turn = static_cast<std::byte>(random_.chance(80) ? 1 : 2);
  Memory& input = a.host != nullptr && random_.chance(30) ? *a.host : *a.device;
  std::string text = "move " + std::to_string(moves_) + ": a value derived from " + show(r) + " of " + std::to_string(a.bytes.size());
  engine::Derivations::Use use;
  if (!attempt([&] { use = machine_->engine().derivations.acquire("turned", {turn}, {{&input, r, Access::read}}, r.size(), device); })) {
    return note(text);
  }
  note(text + (use.computed ? " is found" : ""));
  Derived derived{use.derivation, use.memory, std::vector<std::byte>(r.size())};
  for (std::uint64_t i = 0; i < r.size(); ++i) derived.bytes[i] = a.bytes[r.begin + i] ^ turn;
  if (!use.computed && !compute_derived(a, r, turn, derived)) return machine_->engine().derivations.release(*use.derivation);
  const double seconds_to_make = random_.chance(50) ? 1 : 0;  // dear, or made again
  if (!use.computed && random_.chance(90)) machine_->engine().derivations.note_computed(*use.derivation, seconds_to_make);
  read_derived(derived);
  if (derived_.size() < 2 && random_.chance(30)) {
    derived_.push_back(std::move(derived));
  } else {
    machine_->engine().derivations.release(*use.derivation);
  }
}

bool Oracle::compute_derived(Array& a, ByteRange r, std::byte turn, const Derived& derived) {
  void* const stream = pick_stream(device_of(*derived.memory));
  engine::QueueIndex queue = engine::unknown_queue;
  if (!adopt(stream, queue)) return false;
  const std::vector<Operand> operands{{a.device, false}, {derived.memory, true}};
  std::vector<engine::Requirement> parts{{a.device, r, Access::read}, {derived.memory, derived.memory->positions(), Access::overwrite}};
  const std::vector<FakeDevice::Touch> touches = Machine::touches(operands, parts);
  order_program(stream, touches);
  bool in_part = false;
  if (!attempt([&] { in_part = machine_->engine().launches.begin_launch(queue, operands.data(), 2, {parts.data(), 2}); })) return false;
  machine_->device().launch(named(stream), touches, [this, from = a.device->address, to = derived.memory->address, r, turn, expected = expect(a)] {
    check(expected, r, from + r.begin, "a kernel that derives a value");
    for (std::uint64_t i = 0; i < r.size(); ++i) to[i] = from[r.begin + i] ^ turn;
  });
  replay_.program_writes(derived.memory->slot, derived.memory->all(), [&](std::uint64_t i) { return derived.bytes[i]; });
  survive(2, [&] {
    machine_->engine().launches.end_launch(queue, operands.data(), 2, all_devices, {parts.data(), in_part ? 2u : 0u});
  });
  return true;
}

void Oracle::read_derived(const Derived& derived) {
  Memory& m = *derived.memory;
  void* const stream = pick_stream(device_of(m));
  engine::QueueIndex queue = engine::unknown_queue;
  if (!adopt(stream, queue)) return;
  const std::vector<Operand> operands{{&m, false}};  // the engine orders it behind the kernel that computes the value
  if (!attempt([&] { (void)machine_->engine().launches.begin_launch(queue, operands.data(), 1); })) return;
  machine_->device().launch(named(stream), Machine::touches(operands), [this, base = m.address, bytes = derived.bytes] {
    if (!failed_ && std::memcmp(base, bytes.data(), bytes.size()) != 0) fail("a derived value is not that of its inputs");
  });
  survive(2, [&] { machine_->engine().launches.end_launch(queue, operands.data(), 1); });
}

void Oracle::fill_by_kernel() {
  Array& a = pick();
  if (a.device == nullptr || a.bytes.empty()) return;
  const directory::Fill pattern = random_pattern(random_);
  ByteRange r = sub_range(a.bytes.size());
  r.end = r.begin + round_down(r.size(), pattern.pattern_bytes);
  if (r.empty()) return;
  void* const stream = pick_stream(device_for(*a.device));
  const std::vector<Operand> operands{{a.device, true}};
  note("a kernel fills " + show(r) + " of " + std::to_string(a.bytes.size()));
  engine::QueueIndex queue = engine::unknown_queue;
  if (!adopt(stream, queue)) return;
  order_program(stream, operands);
  if (!attempt([&] { machine_->engine().launches.begin_launch(queue, operands.data(), 1); })) return;
  std::byte* const base = a.device->address;
  machine_->device().launch(named(stream), Machine::touches(operands), [base, r, pattern] {
    for (std::uint64_t i = r.begin; i < r.end; ++i) {
      base[i] = static_cast<std::byte>(pattern.pattern[(i - r.begin) % pattern.pattern_bytes]);
    }
  });
  replay_.program_writes(a.device->slot, r, [&](std::uint64_t i) {
    return static_cast<std::byte>(pattern.pattern[(i - r.begin) % pattern.pattern_bytes]);
  });
  machine_->engine().copies.filled(*a.device, r.begin, r.size(), pattern);
  for (std::uint64_t i = r.begin; i < r.end; ++i) {
    a.bytes[i] = static_cast<std::byte>(pattern.pattern[(i - r.begin) % pattern.pattern_bytes]);
  }
  define(a, r);
  machine_->engine().launches.end_launch(queue, operands.data(), 1);
}

void Oracle::copy() {
  Array& to = pick();
  Array& from = random_.chance(15) ? to : pick();
  const auto side_of = [&](Array& a) {
    return a.device == nullptr ? a.host : a.host == nullptr || random_.chance(50) ? a.device : a.host;
  };
  Memory* const t = side_of(to);
  Memory* const f = side_of(from);
  const std::uint64_t most = std::min(to.bytes.size(), from.bytes.size());
  if (most == 0) return;
  const ByteRange r = sub_range(most);
  std::uint64_t to_at = random_.chance(60) ? r.begin : random_.below(to.bytes.size() - r.size() + 1);
  std::uint64_t from_at = random_.chance(60) ? r.begin : random_.below(from.bytes.size() - r.size() + 1);
  const std::uint64_t n = r.size();
  if (options_.protocol == engine::Protocol::off && &to == &from && t != f && to_at != from_at) return;
  // Kokkos refuses views that overlap; a shift within one memory by a small part of itself is as many steps as it has parts.
  if (t == f && to_at != from_at && n / (to_at > from_at ? to_at - from_at : from_at - to_at) > 64) return;
  note("copy " + std::to_string(n) + " bytes to " + std::to_string(to.bytes.size()) + side(*t) + "@" +
       std::to_string(to_at) + " from " + std::to_string(from.bytes.size()) + side(*f) + "@" +
       std::to_string(from_at) + (&to == &from ? " (itself)" : ""));
  const auto body = [&] { machine_->engine().copies.copy(t->address + to_at, f->address + from_at, n); };
  if (!attempt(body)) {
    forget_pieces(to, *t, {to_at, to_at + n});
    forget_pieces(to, *f, {to_at, to_at + n});
    return;
  }
  std::memmove(to.bytes.data() + to_at, from.bytes.data() + from_at, n);
  std::memmove(to.defined.data() + to_at, from.defined.data() + from_at, n);
  to.all_defined = to.all_defined && from.all_defined;
}

/// Some of these bytes may have been overwritten, and others not.
void Oracle::forget(Array& a, ByteRange range) {
  std::memset(a.defined.data() + range.begin, 0, range.size());
  a.all_defined = false;
}

/// A copy that is made at the call and needs more device memory than there is, is made piece by piece. If it is refused, earlier pieces have
/// been overwritten.
void Oracle::forget_pieces(Array& a, const Memory& m, ByteRange range) {
  if (!m.on_host() && m.bytes > machine_->engine().state().device_of(m).memory->budget_bytes()) forget(a, range);
}

/// Columns of two arrays, or of an array and other memory. Few pitches are used, so that arrays often have regions of one pitch.
void Oracle::copy_columns() {
  Array& to = pick();
  Array& from = random_.chance(20) ? to : pick();
  const auto side_of = [&](Array& a) {
    return a.device == nullptr ? a.host : a.host == nullptr || random_.chance(50) ? a.device : a.host;
  };
  Memory* const t = side_of(to);
  Memory* const f = side_of(from);
  const std::uint64_t page = machine_->platform().page_bytes();
  const std::uint64_t pitches[] = {48, 1000, page, page + page / 2};
  const std::uint64_t to_pitch = pitches[random_.below(4)];
  const std::uint64_t from_pitch = random_.chance(75) ? to_pitch : pitches[random_.below(4)];
  const std::uint64_t most = std::min(to.bytes.size(), from.bytes.size());
  const std::uint64_t width = 1 + random_.below(std::min(to_pitch, from_pitch));
  const std::uint64_t larger = std::max(to_pitch, from_pitch);
  if (most < width + larger) return;
  const std::uint64_t columns = 2 + random_.below(std::min<std::uint64_t>(options_.failures == Failures::in_turn ? 8 : 200, (most - width) / larger));
  const auto place = [&](const Array& a, std::uint64_t pitch) {
    const std::uint64_t room = a.bytes.size() - ((columns - 1) * pitch + width);
    return random_.chance(40) ? 0 : random_.below(room + 1);
  };
  const Region there(place(to, to_pitch), width, columns, to_pitch);
  const Region here(random_.chance(60) && to_pitch == from_pitch && there.end() <= from.bytes.size() ? there.begin : place(from, from_pitch), width,
                    columns, from_pitch);
  if (&to == &from && (t == f || options_.protocol == engine::Protocol::off) && there.hull().overlaps(here.hull())) return;
  // A shift within one array is made in pieces as small as the shift.
  if (&to == &from && there.hull().overlaps(here.hull()) && there.begin != here.begin) return;
  const engine::Copies::Columns what{width, columns, to_pitch, from_pitch};
  const auto text = [](const Array& a, const Memory* m, const Region& r, std::uint64_t pitch) {
    return std::to_string(a.bytes.size()) + side(*m) + "@" + std::to_string(r.begin) + " apart " + std::to_string(pitch);
  };
  const std::string name = "copy " + std::to_string(columns) + " columns of " + std::to_string(width) + " bytes to ";
  const auto column_of = [&](std::uint64_t begin, std::uint64_t pitch, std::uint64_t c) { return ByteRange{begin + c * pitch, begin + c * pitch + width}; };
  if (random_.chance(15)) {  // from, or to, untracked memory
    const bool out = random_.chance(50);
    std::vector<std::byte> buffer((columns - 1) * (out ? to_pitch : from_pitch) + width);
    if (out) {
      note(name + "untracked memory, " + std::to_string(to_pitch) + " apart, from " + text(from, f, here, from_pitch));
      if (!attempt([&] { machine_->engine().copies.copy(buffer.data(), f->address + here.begin, what); })) return;
      machine_->device().check_host_access(buffer.data(), buffer.size(), false);
      for (std::uint64_t c = 0; c < columns; ++c) {
        check(expect(from), column_of(here.begin, from_pitch, c), buffer.data() + c * to_pitch, "untracked memory");
      }
      return;
    }
    note(name + text(to, t, there, to_pitch) + " from untracked memory");
    const std::uint64_t seed = next_seed_++;
    for (std::uint64_t c = 0; c < columns; ++c) {
      const ByteRange column = column_of(there.begin, to_pitch, c);
      for (std::uint64_t i = column.begin; i < column.end; ++i) buffer[c * from_pitch + i - column.begin] = Machine::mix(seed, i);
    }
    const bool done = attempt([&] { machine_->engine().copies.copy(t->address + there.begin, buffer.data(), what); });
    machine_->device().check_host_access(buffer.data(), buffer.size(), true);
    for (std::uint64_t c = 0; c < columns; ++c) {
      write(to, column_of(there.begin, to_pitch, c), seed);
      if (!done) forget(to, column_of(there.begin, to_pitch, c));
    }
    return;
  }
  note(name + text(to, t, there, to_pitch) + " from " + text(from, f, here, from_pitch) + (&to == &from ? " (itself)" : ""));
  if (!attempt([&] { machine_->engine().copies.copy(t->address + there.begin, f->address + here.begin, what); })) {
    for (std::uint64_t c = 0; c < columns; ++c) forget(to, column_of(there.begin, to_pitch, c));  // it may have been made at the call
    return;
  }
  const std::vector<std::byte> bytes = from.bytes;
  const std::vector<std::uint8_t> defined = from.defined;
  const bool all_defined = from.all_defined;
  for (std::uint64_t c = 0; c < columns; ++c) {
    const std::uint64_t target = there.begin + c * to_pitch, source = here.begin + c * from_pitch;
    std::memcpy(to.bytes.data() + target, bytes.data() + source, width);
    std::memcpy(to.defined.data() + target, defined.data() + source, width);
  }
  to.all_defined = to.all_defined && all_defined;
}

/// So many small copies that the maps of the array become too long for it.
void Oracle::copy_crumbs() {
  Array& to = pick();
  Array& from = pick();
  if (&to == &from) return;
  Memory* const t = to.device != nullptr ? to.device : to.host;
  Memory* const f = from.device != nullptr ? from.device : from.host;
  const std::uint64_t most = std::min(to.bytes.size(), from.bytes.size());
  constexpr std::uint64_t crumb = 8, apart = 24, crumbs = 80;
  if (most < crumbs * apart) return;
  const std::uint64_t first = random_.below(most - crumbs * apart + 1);
  note("copy " + std::to_string(crumbs) + " crumbs to " + std::to_string(to.bytes.size()) + side(*t) + "@" +
       std::to_string(first) + " from " + std::to_string(from.bytes.size()) + (f->on_host() ? "h" : "d"));
  for (std::uint64_t i = 0; i < crumbs && !failed_; ++i) {
    const std::uint64_t at = first + i * apart;
    if (!attempt([&] { machine_->engine().copies.copy(t->address + at, f->address + at, crumb); })) return;
    std::memcpy(to.bytes.data() + at, from.bytes.data() + at, crumb);
    std::memcpy(to.defined.data() + at, from.defined.data() + at, crumb);
    to.all_defined = to.all_defined && from.all_defined;
  }
}

void Oracle::copy_open() {
  Array& a = pick();
  Memory* const m = a.device == nullptr || (a.host != nullptr && random_.chance(50)) ? a.host : a.device;
  const ByteRange r = sub_range(a.bytes.size());
  if (r.empty()) return;
  std::vector<std::byte> buffer(r.size());
  if (random_.chance(50)) {
    note("copy " + show(r) + " of " + std::to_string(a.bytes.size()) + (m->on_host() ? "h" : "d") + " to untracked memory");
    const auto out = [&] { machine_->engine().copies.copy(buffer.data(), m->address + r.begin, r.size()); };
    if (!attempt(out)) return;
    machine_->device().check_host_access(buffer.data(), buffer.size(), false);
    check(expect(a), r, buffer.data(), "untracked memory");
    return;
  }
  note("copy untracked memory to " + show(r) + " of " + std::to_string(a.bytes.size()) + (m->on_host() ? "h" : "d"));
  const std::uint64_t seed = next_seed_++;
  for (std::uint64_t i = 0; i < r.size(); ++i) buffer[i] = Machine::mix(seed, r.begin + i);
  const auto in = [&] { machine_->engine().copies.copy(m->address + r.begin, buffer.data(), r.size()); };
  if (!attempt(in)) return forget_pieces(a, *m, r);
  machine_->device().check_host_access(buffer.data(), buffer.size(), true);
  write(a, r, seed);
}

void Oracle::copy_foreign_device() {
  Array& a = pick();
  Memory* const m = a.device == nullptr || (a.host != nullptr && random_.chance(50)) ? a.host : a.device;
  const ByteRange r = sub_range(std::min<std::uint64_t>(a.bytes.size(), foreign_size));
  if (r.empty() || (m->on_host() && options_.emulated)) return;
  const bool out = random_.chance(50);
  if (!out && m->on_host()) return;  // the engine reads untracked sources of host arrays with the processor
  note(std::string("copy ") + (out ? "to" : "from") + " foreign device memory, " + show(r) + " of " +
       std::to_string(a.bytes.size()) + (m->on_host() ? "h" : "d"));
  if (!attempt([&] {
        if (out) machine_->engine().copies.copy(foreign_ + r.begin, m->address + r.begin, r.size());
        else machine_->engine().copies.copy(m->address + r.begin, foreign_ + r.begin, r.size());
      })) {
    return;
  }
  machine_->device().check_host_access(foreign_ + r.begin, r.size(), true);
  if (out) {
    check(expect(a), r, foreign_ + r.begin, "foreign device memory");
    std::memcpy(foreign_bytes_.data() + r.begin, foreign_ + r.begin, r.size());
  } else {
    std::memcpy(a.bytes.data() + r.begin, foreign_bytes_.data() + r.begin, r.size());
    define(a, r);
  }
}

void Oracle::fill() {
  Array& a = pick();
  Memory* const m = a.device == nullptr || (a.host != nullptr && random_.chance(50)) ? a.host : a.device;
  const ByteRange r = sub_range(a.bytes.size());
  if (r.empty()) return;
  const directory::Fill pattern = random_pattern(random_);
  note("fill " + show(r) + " of " + std::to_string(a.bytes.size()) + (m->on_host() ? "h" : "d") + " with " +
       std::to_string(pattern.pattern_bytes) + " bytes");
  if (!attempt([&] { machine_->engine().copies.fill(*m, r.begin, r.size(), pattern); })) return;
  for (std::uint64_t i = 0; i < r.size(); ++i) {
    a.bytes[r.begin + i] = static_cast<std::byte>(pattern.pattern[i % pattern.pattern_bytes]);
  }
  define(a, r);
}

/// Nobody can tell from content whether the host was told before.
void Oracle::prefetch() {
  Array& a = pick();
  if (a.host == nullptr) return;
  const ByteRange r = random_.chance(50) ? ByteRange{0, a.bytes.size()} : sub_range(a.bytes.size());
  note("the host will read " + show(r) + " of " + std::to_string(a.bytes.size()));
  (void)attempt([&] { machine_->engine().host_access.prefetch(*a.host, r); });
}

void Oracle::settle() {
  note("settle everything");
  (void)attempt([&] { machine_->engine().host_access.settle_all(); });
}

void Oracle::reallocate() {
  // Kokkos' resize: a new array, the common part copied, the old one freed while the copy is pending.
  const std::size_t index = random_.below(arrays_.size());
  if (arrays_[index]->device == nullptr || arrays_[index]->host != nullptr) return;
  new_array();
  Array& old = *arrays_[index];
  Array& now = *arrays_.back();
  Memory* const t = now.device != nullptr ? now.device : now.host;
  const std::uint64_t n = std::min(old.bytes.size(), now.bytes.size());
  const auto body = [&] { machine_->engine().copies.copy(t->address, old.device->address, n); };
  if (n > 0 && attempt(body)) {
    std::memcpy(now.bytes.data(), old.bytes.data(), n);
    std::memcpy(now.defined.data(), old.defined.data(), n);
  }
  free_side(index, true);
}

/// The program destroys a stream. The next one may get its handle.
void Oracle::destroy_stream(void* stream) {
  note("destroy stream " + std::to_string(static_cast<char*>(stream) - stream_keys));
  leases_.erase(stream);  // nothing is left to be given up
  bool known = false;
  survive(20, [&] { known = machine_->engine().stream_ends(stream); });
  if (known) machine_->device().destroy_stream(named(stream));
}

void Oracle::retire_queue() {
  const std::uint32_t device = pick_device();
  if (random_.chance(50)) return destroy_stream(random_.chance(50) ? pick_stream(device) : foreign_stream(device));
  void* const stream = pick_stream(device);
  note("retire stream " + std::to_string(static_cast<char*>(stream) - stream_keys));
  engine::QueueIndex queue = engine::unknown_queue;
  if (!adopt(stream, queue) || queue == engine::unknown_queue) return;
  survive(20, [&] {
    for (unsigned lease = 1; lease < leases_[stream]; ++lease) machine_->engine().retire_queue(queue);
    machine_->engine().retire_queue(queue);
  });
  leases_.erase(stream);
}

// --- messages --------------------------------------------------------------------------------------------------------

Oracle::Message Oracle::random_message() {
  Message m;
  m.array = &pick();
  m.memory = m.array->device == nullptr || (m.array->host != nullptr && random_.chance(50)) ? m.array->host : m.array->device;
  const ByteRange all = sub_range(m.array->bytes.size());
  m.position = all.begin - random_.below(std::min<std::uint64_t>(all.begin, 100) + 1);
  // Pieces and gaps in turn, of all lengths.
  for (std::uint64_t at = all.begin; at < all.end && m.pieces.size() < 4;) {
    const std::uint64_t end = random_.chance(50) ? all.end : at + 1 + random_.below(all.end - at);
    m.pieces.push_back({at - m.position, end - m.position});
    at = end + 1 + random_.below(64);
  }
  return m;
}

bool Oracle::take_buffer(Message& m) {
  const bool on_device = !m.memory->on_host() && random_.chance(30);
  const ByteRange whole{m.position + m.pieces.front().begin, m.position + m.pieces.back().end};
  return attempt([&] {
    if (!on_device && !m.memory->on_host() && m.pieces.size() == 1 && random_.chance(50)) {
      m.buffer = machine_->engine().buffers.take_beside(*m.memory, whole);
    }
    if (m.buffer == nullptr) m.buffer = machine_->engine().buffers.take(m.pieces.back().end, on_device ? base::Side::device : base::Side::host, m.memory);
  });
}

void Oracle::send(Message& m) {
  // A block's buffer begins with the message, another one with `position`.
  std::byte* const at = m.buffer->block != nullptr ? m.buffer->address - m.pieces.front().begin : m.buffer->address;
  note("send " + std::to_string(m.pieces.size()) + " pieces from " + show(m.pieces.front()) + " behind " + std::to_string(m.position) +
       " of " + std::to_string(m.array->bytes.size()) + (m.memory->on_host() ? "h" : "d") + (m.buffer->on_device() ? " on the device" : ""));
  machine_->engine().foreign_io.expect_read_out(*m.memory, m.position, m.pieces.data(), random_.chance(80) ? m.pieces.size() : 0, *m.buffer, at);
  const Expected expected = expect(*m.array);
  if (!attempt([&] {
        machine_->engine().foreign_io.read_out(*m.memory, m.position, m.pieces.data(), m.pieces.size(), *m.buffer, at);
      }) ||
      !attempt([&] { machine_->engine().foreign_io.settle_buffer(*m.buffer); })) {
    return;
  }
  for (const ByteRange p : m.pieces) {
    machine_->device().check_host_access(at + p.begin, p.size(), true);
    check(expected, {m.position + p.begin, m.position + p.end}, at + p.begin, "a message");
  }
  machine_->engine().foreign_io.expect_read_out(*m.memory, m.position, m.pieces.data(), m.pieces.size(), *m.buffer, at);
}

void Oracle::message_out() {
  if (!persistent_.empty() && random_.chance(60)) return send(persistent_[random_.below(persistent_.size())]);
  Message m = random_message();
  if (m.pieces.empty() || !take_buffer(m)) return;
  send(m);
  if (persistent_.size() < 4 && random_.chance(50)) {
    persistent_.push_back(std::move(m));
  } else {
    machine_->engine().buffers.give(m.buffer);
  }
}

void Oracle::message_in() {
  Message m = random_message();
  if (m.pieces.empty() || !take_buffer(m)) return;
  std::byte* const from = m.buffer->block != nullptr ? m.buffer->address - m.pieces.front().begin : m.buffer->address;
  note("a message of " + std::to_string(m.pieces.size()) + " pieces arrives, from " + show(m.pieces.front()) + " behind " +
       std::to_string(m.position) + " of " + std::to_string(m.array->bytes.size()) + (m.memory->on_host() ? "h" : "d") +
       (m.buffer->on_device() ? " on the device" : ""));
  const std::uint64_t seed = next_seed_++;
  for (const ByteRange p : m.pieces) {
    machine_->device().check_host_access(from + p.begin, p.size(), true);
    for (std::uint64_t i = p.begin; i < p.end; ++i) from[i] = Machine::mix(seed, m.position + i);
  }
  const bool arrived = attempt([&] {
    machine_->engine().foreign_io.write_in(*m.memory, m.position, m.pieces.data(), m.pieces.size(), *m.buffer, from);
  });
  for (const ByteRange p : m.pieces) {
    const ByteRange range{m.position + p.begin, m.position + p.end};
    write(*m.array, range, seed);
    if (!arrived) forget(*m.array, range);
  }
  machine_->engine().buffers.give(m.buffer);
}

void Oracle::drop_messages_of(const Memory* memory) {
  for (std::size_t i = persistent_.size(); i-- > 0;) {
    if (persistent_[i].memory != memory) continue;
    machine_->engine().buffers.give(persistent_[i].buffer);
    persistent_.erase(persistent_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// --- comparing -------------------------------------------------------------------------------------------------------

void Oracle::compare_replay() {
  bool quiet = attempt_once([&] { machine_->engine().host_access.settle_all(); });
  for (std::uint32_t d = 0; d < options_.devices; ++d) machine_->device(d).synchronize_device();
  if (!quiet || failed_) return;
  replay_.compare();
  const Counters engine = machine_->counters();
  const Counters& steps = replay_.counted();
  const std::pair<Traffic Counters::*, const char*> kinds[] = {
      {&Counters::h2d, "h2d"}, {&Counters::d2h, "d2h"}, {&Counters::d2d, "d2d"}, {&Counters::h2h, "h2h"},
      {&Counters::filled, "filled"}, {&Counters::saved_link, "saved_link"}, {&Counters::saved_device, "saved_device"},
      {&Counters::saved_host, "saved_host"}, {&Counters::between_devices, "between_devices"}, {&Counters::written_back, "written_back"}};
  for (const auto& [kind, name] : kinds) {
    const Traffic& counted = engine.*kind;
    const Traffic& made = steps.*kind;
    if (counted == made) continue;
    fail(std::string(name) + ": " + std::to_string(counted.bytes) + " bytes in " + std::to_string(counted.count) +
         " are counted, the steps have " + std::to_string(made.bytes) + " in " + std::to_string(made.count));
  }
  if (engine.evictions != replay_.evictions()) fail("evictions are counted otherwise than made");
}

void Oracle::compare_everything() {
  note("compare everything");
  for (const auto& a : arrays_) {
    if (failed_) return;
    if (a->host != nullptr && random_.chance(70)) {
      if (options_.protocol == engine::Protocol::off) machine_->engine().access(*a->host, a->host->all(), Access::read);
      const std::vector<std::byte> seen = machine_->host_content(*a->host);
      check(expect(*a), {0, a->bytes.size()}, seen.data(), "the host at the end");
    }
    if (a->device != nullptr) {
      void* const stream = pick_stream(device_for(*a->device));
      // An array that is larger than the budget is read in parts.
      const std::uint64_t most = machine_->engine().state().device_of(*a->device).memory->budget_bytes() - 2 * options_.granularity_bytes;
      if (a->bytes.size() <= most) {
        const std::vector<std::byte> seen = machine_->device_content(named(stream), *a->device);
        check(expect(*a), {0, a->bytes.size()}, seen.data(), "a kernel at the end");
      }
      for (std::uint64_t at = 0; at < a->bytes.size() && a->bytes.size() > most && !failed_; at += most) {
        const ByteRange part{at, std::min<std::uint64_t>(at + most, a->bytes.size())};
        const std::vector<std::byte> seen = machine_->device_content(named(stream), *a->device, part);
        check(expect(*a), part, seen.data(), "a kernel at the end");
      }
    }
  }
  compare_replay();
}

void Oracle::move() {
  if (derive_in_ > 0 && --derive_in_ == 0) return derive();
  const std::uint64_t choice = random_.below(1000);
  if (choice < 200) return host_read();
  if (choice < 340) return options_.device_faults && random_.chance(40) ? raw_use() : host_write();
  if (choice < 410) return random_.chance(15) ? prefetch() : announced_access();
  if (choice < (options_.devices > 1 ? 605u : 620u)) return random_.chance(6) ? task() : (void)launch(Launched::known);
  if (choice < 625) return (void)launch(Launched::unknown);
  if (choice < 628) return use_parts();
  if (choice < 631) return derive();
  if (choice < 640) return native_launch();
  if (choice < 665) return foreign_call();
  if (choice < 690) return fill_by_kernel();
  if (options_.adopts && choice >= 690 && choice < 770) return random_.chance(25) ? use_edges() : copy_with_edges();
  if (choice < 840) return random_.chance(25) ? copy_columns() : copy();
  if (choice < 870) return copy_open();
  if (choice < 880) return copy_foreign_device();
  if (choice < 920) return fill();
  if (choice < 922) return settle();
  if (choice < 932) return reallocate();
  if (choice < 935) return retire_queue();
  if (choice < 938) return compare_everything();
  if (choice < 942) return message_in();
  if (choice < 948) return message_out();
  if (choice < 949) return copy_crumbs();
  if (choice < 950) {
    machine_->device().synchronize_device();
    return;
  }
  if (choice < 975) {
    if (arrays_.size() > 5 && random_.chance(60)) {
      const std::size_t index = random_.below(arrays_.size());
      const Array& a = *arrays_[index];
      free_side(index, a.host == nullptr || (a.device != nullptr && random_.chance(50)));
    } else if (arrays_.size() < 14) {
      new_array();
    }
    return;
  }
  machine_->device().tick();
}

bool Oracle::run(std::uint64_t moves) {
  for (std::uint64_t n = 0; n < moves && !failed_; ++n) {
    ++moves_;
    move();
    if ((random_.chance(12) || trace_) && !failed_) machine_->engine().audit();
    if (!failed_ && arrays_.empty()) new_array();
  }
  if (!failed_) compare_everything();
  return !failed_;
}

}  // namespace semcache::fakes
