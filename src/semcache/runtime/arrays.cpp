// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/per_thread.hpp>
#include <semcache/runtime/lifetime.hpp>

#include <cstring>
#include <string>

/// Arrays: memory, queues, copies and accesses.
namespace semcache::runtime {

using engine::Memory;

namespace {

/// The queues that a thread has asked for last. A thread that feeds several devices has several.
struct LastQueues {
  struct One {
    void* native = nullptr;
    QueueId queue;
    std::uint64_t retired = 0;  ///< `retired_queues` at that time
  };
  [[nodiscard]] One& of(void* native) noexcept {
    const auto n = reinterpret_cast<std::uintptr_t>(native);
    return queues[(n ^ n >> 4 ^ n >> 8) % 4];
  }
  One queues[4];
};

/// Refuses a device that the process does not use. @throws UsageError
void expect_device(const Runtime& r, std::uint32_t device) {
  const std::size_t count = r.engine->state().devices.size();
  SEMCACHE_EXPECTS(device < count, "device " + std::to_string(device) + " does not exist: this process uses " + std::to_string(count) +
                                       (count == 1 ? " device" : " devices") + ", counted from 0 (SEMCACHE_DEVICES, semcache::use_devices)");
}

directory::Fill make_fill(const void* pattern, std::uint32_t pattern_bytes) {
  SEMCACHE_EXPECTS(pattern != nullptr, "a fill without a pattern: a null pointer");
  SEMCACHE_EXPECTS(pattern_bytes > 0 && 16 % pattern_bytes == 0,
                   "a fill pattern has 1, 2, 4, 8 or 16 bytes, not " + std::to_string(pattern_bytes));
  directory::Fill fill;
  std::memcpy(fill.pattern.data(), pattern, pattern_bytes);
  fill.pattern_bytes = pattern_bytes;
  return fill;
}

}  // namespace

bool find_adopted(const Runtime& r, const void* address, std::size_t bytes, InAdopted& found) {
  const engine::State& s = r.engine->state();
  const auto* const begin = static_cast<const std::byte*>(address);
  if (s.host->covers(begin) || s.in_device_arena(begin)) return false;
  Memory* const m = s.adopted.find_near(begin);
  const std::byte* const behind = m != nullptr ? m->address + m->bytes + m->edge_behind : r.engine->adoption.end_of_open(begin);
  if (behind == nullptr) return false;
  SEMCACHE_EXPECTS(bytes <= static_cast<std::size_t>(behind - begin),
                   "the range of " + std::to_string(bytes) + " bytes at " + base::text_of(address) + " leaves the adopted " +
                       (m != nullptr ? "'" + std::string(r.recorder.name(m->label)) + "'" : "range") + ", which ends at " +
                       base::text_of(behind));
  found = {};
  if (m == nullptr) return true;
  const std::byte* const end = m->address + m->bytes;
  const bool in_body = begin >= m->address && begin < end && bytes <= static_cast<std::size_t>(end - begin);
  if (in_body) return false;
  const auto offset_of = [&](const std::byte* p) -> std::uint64_t {
    return p <= begin ? 0 : std::min<std::uint64_t>(bytes, static_cast<std::uint64_t>(p - begin));
  };
  found = {m, {offset_of(m->address), offset_of(end)}, 0};
  if (!found.inside.empty()) found.position = static_cast<std::uint64_t>(begin + found.inside.begin - m->address);
  return true;
}

Located locate(Runtime& r, const void* address, std::size_t bytes) {
  Memory* m = array_at(r, address);
  SEMCACHE_EXPECTS(m != nullptr,
                   "the address " + base::text_of(address) + " is in no tracked array; only memory of semcache::Space, its host "
                   "mirrors and adopted memory are tracked" +
                       (r.engine->state().in_any_arena(address) ? ", and what was there has been freed, or ends before" : ""));
  const auto position = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - m->address);
  SEMCACHE_EXPECTS(position <= m->bytes && bytes <= m->bytes - position,
                   "the range of " + std::to_string(bytes) + " bytes at offset " + std::to_string(position) + " leaves '" +
                       r.recorder.name(m->label) + "' of " + std::to_string(m->bytes) + " bytes");
  return {m, position};
}

void refuse_recorded() {
  throw UsageError("a launch, copy or fill on a semcache::Exec whose stream records a graph: nobody would know when the graph runs "
                   "it. Record launches on the native space instead: what they use counts as used at each launch of the graph");
}

void* allocate_device(const char* label, std::size_t bytes, std::uint32_t device) {
  const Call call;
  Runtime& r = runtime();
  expect_device(r, device);
  r.tracker->stay_on_top();
  return r.engine->lifetimes.allocate_device(device, label, bytes)->address;
}

void* allocate_host(const char* label, std::size_t bytes, const void* partner, base::Accesses accesses) {
  const Call call;
  Runtime& r = runtime();
  r.tracker->stay_on_top();
  Memory* device_side = nullptr;
  if (partner != nullptr) {
    device_side = r.engine->state().find_device(partner);
    SEMCACHE_EXPECTS(device_side != nullptr && device_side->address == partner,
                     "the partner of a host side must be the first byte of a device array; " + base::text_of(partner) + " is not");
  }
  return r.engine->lifetimes.allocate_host(label, bytes, device_side, accesses)->address;
}

PlacedPart::PlacedPart(Memory* memory) noexcept : memory_(memory), epoch_(epoch()) {}

PlacedPart::~PlacedPart() {
  const Call call;
  Runtime* const r = running();
  if (r == nullptr || epoch_ != epoch()) return;
  r->engine->lifetimes.deallocate(memory_);
}

void* PlacedPart::data() const noexcept { return memory_->address; }

namespace {

Memory* new_array_part(const void* first, std::size_t bytes, std::size_t columns, std::size_t pitch, std::uint32_t device) {
  const Call call;
  Runtime& r = runtime();
  expect_device(r, device);
  const Located at = locate(r, first, bytes);
  return r.engine->lifetimes.allocate_part(device, *at.memory, Region(at.position, bytes, columns, pitch));
}

Memory* new_host_part(const void* first, std::size_t bytes, std::size_t columns, std::size_t pitch) {
  const Call call;
  Runtime& r = runtime();
  const Located at = locate(r, first, bytes);
  return r.engine->lifetimes.allocate_host_part(*at.memory, Region(at.position, bytes, columns, pitch));
}

}  // namespace

ArrayPart::ArrayPart(const void* first, std::size_t bytes, std::size_t columns, std::size_t pitch, std::uint32_t device)
    : PlacedPart(new_array_part(first, bytes, columns, pitch, device)) {}

HostPart::HostPart(const void* first, std::size_t bytes, std::size_t columns, std::size_t pitch)
    : PlacedPart(new_host_part(first, bytes, columns, pitch)) {}

/// Finds the array that a tile stands for, and the part's position there.
static Located locate_part(Runtime& r, const Tile::Part& part) {
  const std::uint64_t bytes = Region(0, part.bytes, part.columns, part.pitch).end();
  if (Memory* const m = array_at(r, part.first)) {
    const auto position = static_cast<std::uint64_t>(static_cast<const std::byte*>(part.first) - m->address);
    if (bytes <= m->bytes - position) return {m, position};
  }
  if (InAdopted edges; find_adopted(r, part.first, bytes, edges)) {
    throw UsageError("an operand of " + std::to_string(bytes) + " bytes at " + base::text_of(part.first) + " is in adopted memory, but not in whole "
                     "pages of it, so its ends are not tracked. Adopt memory that begins and ends at a page (aligned_alloc(4096, ...))");
  }
  return locate(r, part.first, bytes);
}

void Tile::acquire(const Part* parts, std::size_t count, std::uint32_t device, Tile* tiles) {
  SEMCACHE_EXPECTS(count <= Tiles::most, "a call uses " + std::to_string(count) + " tiles, and " + std::to_string(Tiles::most) + " are possible");
  const Call call;
  Runtime& r = runtime();
  expect_device(r, device);
  engine::Tiles::Wanted wanted[Tiles::most];
  std::size_t of[Tiles::most];
  std::size_t wanted_count = 0;
  const std::uint64_t budget = r.engine->state().devices[device]->memory->budget_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    const Part& part = parts[i];
    const Located at = locate_part(r, part);
    const Region where(at.position, part.bytes, part.columns, part.pitch);
    if (at.memory->space == device_space(device) && at.memory->bytes <= budget) {
      tiles[i].data_ = at.memory->address + at.position;
      tiles[i].pitch_ = part.columns > 1 ? part.pitch : part.bytes;
    } else {
      of[wanted_count] = i;
      wanted[wanted_count++] = {at.memory, where, part.unit, nullptr};
    }
  }
  r.engine->tiles.acquire(device, wanted, wanted_count);
  for (std::size_t w = 0; w < wanted_count; ++w) {
    const Part& part = parts[of[w]];
    const Region& where = wanted[w].where;
    Memory* const memory = wanted[w].tile;
    const Region in_tile = memory::in_memory(*memory, Region::apart(where.begin, part.bytes, part.columns, part.pitch));
    const Region& all = memory->layout;
    Tile& tile = tiles[of[w]];
    tile.memory_ = memory;
    tile.epoch_ = epoch();
    tile.data_ = memory->address + in_tile.begin;
    // Columns that are one range lie in one column of the tile, as near to each other as in the array.
    tile.pitch_ = part.columns == 1 ? part.bytes : all.is_range() || where.is_range() ? part.pitch : part.pitch / all.pitch * all.width;
  }
}

void Tile::release(Tile* tiles, std::size_t count) noexcept {
  const Call call;
  Runtime* const r = running();
  for (std::size_t i = 0; i < count; ++i) {
    Memory* const memory = std::exchange(tiles[i].memory_, nullptr);
    if (r != nullptr && memory != nullptr && tiles[i].epoch_ == epoch()) r->engine->tiles.release(*memory);
  }
}

Tile::Tile(Tile&& other) noexcept : data_(other.data_), pitch_(other.pitch_), memory_(std::exchange(other.memory_, nullptr)), epoch_(other.epoch_) {}

DerivedValue::DerivedValue(const char* function, const void* parameters, std::size_t parameter_bytes, const Input* inputs, std::size_t count,
                           std::size_t bytes, std::uint32_t device) {
  const Call call;
  SEMCACHE_EXPECTS(function != nullptr && (parameters != nullptr || parameter_bytes == 0), "a derived value without a function's name, or with " +
                                                                                               std::to_string(parameter_bytes) +
                                                                                               " bytes of parameters at a null pointer");
  Runtime& r = runtime();
  expect_device(r, device);
  const auto* const first = static_cast<const std::byte*>(parameters);
  std::vector<std::byte> key(first, first + parameter_bytes);
  std::vector<engine::Requirement> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const Input& input = inputs[i];
    const bool empty = input.bytes == 0 || input.columns == 0;
    key.push_back(std::byte{empty});  // which of the inputs have bytes
    if (empty) continue;
    const Located at = locate(r, input.first, input.bytes);
    SEMCACHE_EXPECTS((input.columns == 1 || input.pitch >= input.bytes) &&
                         columns_fit(input.bytes, input.columns, input.pitch, at.memory->bytes - at.position),
                     "an input of '" + std::string(function) + "' of " + std::to_string(input.columns) + " columns of " +
                         std::to_string(input.bytes) + " bytes, " + std::to_string(input.pitch) + " bytes apart, at offset " +
                         std::to_string(at.position) + " of '" + r.recorder.name(at.memory->label) + "' of " +
                         std::to_string(at.memory->bytes) + " bytes: the columns overlap, or leave it");
    parts.push_back({at.memory, Region(at.position, input.bytes, input.columns, input.pitch), Access::read});
  }
  for (std::size_t rest = count, i = 0; i < sizeof count; ++i, rest >>= 8) key.push_back(std::byte(rest & 0xff));  // where the parameters end
  const engine::Derivations::Use use = r.engine->derivations.acquire(function, key, parts, bytes, device);
  derivation_ = use.derivation;
  memory_ = use.memory;
  computed_ = use.computed;
  epoch_ = epoch();
}

DerivedValue::~DerivedValue() {
  const Call call;
  Runtime* const r = running();
  if (r == nullptr || epoch_ != epoch()) return;
  r->engine->derivations.release(*derivation_);
}

void* DerivedValue::data() const noexcept { return memory_->address; }

void DerivedValue::note_computed(double seconds_to_make) {
  const Call call;
  Runtime* const r = running();
  if (r == nullptr || epoch_ != epoch()) return;
  r->engine->derivations.note_computed(*derivation_, seconds_to_make);
  computed_ = true;
}

void deallocate(void* address) noexcept {
  const Call call;
  Runtime* r = running();
  if (r == nullptr || address == nullptr) return;  // the runtime has ended: its memory has been freed, or stays as it is
  Memory* m = array_at(*r, address);
  if (m != nullptr && m->adopted) {
    return base::raw_log("warning: %p is freed, which is in the adopted memory '%s'. Nothing is done: call semcache_release", address,
                         r->recorder.name(m->label));
  }
  if (m != nullptr && m->address == address) {
    r->engine->derivations.leave(*m);
    r->engine->tiles.leave(*m);
    return r->engine->lifetimes.deallocate(m);
  }
  // An address in no arena may belong to an array of a runtime that has ended.
  if (r->engine->state().in_any_arena(address)) {
    base::raw_log("warning: %p is freed, where no array begins: it has been freed already, or the address lies inside one. Nothing "
                  "is done",
                  address);
  }
}

void adopt(void* address, std::size_t bytes, const char* label) {
  const Call call;
  Runtime& r = runtime();
  r.tracker->stay_on_top();
  r.engine->adoption.adopt(static_cast<std::byte*>(address), bytes, label);
}

std::optional<AdoptedRange> adopted_range(const void* address, std::size_t bytes) {
  const Call call;
  const Runtime* const r = running();
  if (InAdopted part; r == nullptr || !find_adopted(*r, address, bytes, part)) return {};
  const auto found = r->engine->adoption.find(static_cast<const std::byte*>(address));
  if (!found) return {};  // another thread has released it meanwhile
  const auto& [first, range] = *found;
  AdoptedRange adopted{const_cast<std::byte*>(first), range.bytes, {}, range.number, range.label};
  if (const Memory* const body = range.body) {
    adopted.body.begin = static_cast<std::uint64_t>(body->address - first);
    adopted.body.end = adopted.body.begin + body->bytes;
  }
  return adopted;
}

void release(void* address) {
  if (running() != nullptr) tell_of_release(address);
  const Call call;
  Runtime* const r = running();
  if (r == nullptr) return;
  if (Memory* const body = r->engine->state().adopted.find_near(static_cast<std::byte*>(address))) r->engine->tiles.leave(*body);
  r->engine->adoption.release(static_cast<std::byte*>(address));
}

void settle_and_open() {
  const Call call;
  if (Runtime* r = running()) r->engine->host_access.settle_and_open();
}

void* header_of(const void* address) noexcept {
  const Presence presence;
  // Arrays that outlive their runtime, and arrays in forked children, have headers too: frameworks read them to end an array.
  const Runtime* const r = current.load(std::memory_order_acquire);
  Memory* m = r != nullptr ? array_at(*r, address) : nullptr;
  if (m == nullptr) m = outlived(address);
  return m != nullptr && m->address == address ? m->header : nullptr;
}

std::vector<HeldBytes> holders(const void* first, std::size_t bytes, std::size_t columns, std::size_t pitch) {
  const Call call;
  std::vector<HeldBytes> held;
  if (bytes == 0 || columns == 0) return held;
  Runtime& r = runtime();
  const Region where(0, bytes, columns, pitch);
  const Located at = locate(r, first, where.end());
  const auto position = static_cast<std::int64_t>(at.position);
  for (const engine::Holder& h : r.engine->holders(*at.memory, where.moved(position))) held.push_back({h.device, h.where.moved(-position)});
  return held;
}

bool notices_host_accesses(const void* address) {
  const Presence presence;
  Runtime& r = runtime();
  const Memory* m = array_at(r, address);
  if (m == nullptr) m = r.engine->state().adopted.find_near(address);
  return m != nullptr && m->on_host() && r.tracker->notices() && !m->announced;
}

void note_dual_view(const void* device, const void* host) {
  const Call call;
  const Runtime* const r = running();
  Memory* const d = r != nullptr ? array_at(*r, device) : nullptr;
  Memory* const h = r != nullptr ? array_at(*r, host) : nullptr;
  if (d != nullptr && h != nullptr && !d->on_host() && h->on_host() && d->datum != h->datum) r->engine->lifetimes.note_dual_view(*d, *h);
}

bool are_sides_of_one_array(const void* device, const void* host) {
  const Presence presence;
  Runtime& r = runtime();
  const Memory* d = array_at(r, device);
  const Memory* h = array_at(r, host);
  return d != nullptr && h != nullptr && !d->on_host() && h->on_host() && d->datum == h->datum;
}

void settle(const void* address) {
  const Call call;
  Runtime& r = runtime();
  if (InAdopted part; find_adopted(r, address, 0, part)) {
    if (part.body != nullptr) r.engine->copies.settle(*part.body, part.body->all());
    return;
  }
  Memory& m = *locate(r, address, 0).memory;
  r.engine->copies.settle(m, m.all());
}

bool host_is_listed() {
  const Presence presence;
  return runtime().configuration.host_listed;
}

int device_ordinal(std::uint32_t device) {
  const Presence presence;
  const Runtime& r = runtime();
  expect_device(r, device);
  return r.engine->state().devices[device]->device->ordinal();
}

std::uint32_t device_of(const void* address) noexcept {
  const Presence presence;
  const Runtime* r = running();
  if (r == nullptr || r->engine->state().devices.size() == 1) return 0;
  const Memory* m = r->engine->state().find_device(address);
  return m != nullptr ? r->engine->state().device_index(*m) : 0;
}

std::uint32_t device_of_stream(void* native_stream) {
  const Presence presence;
  return runtime().engine->state().device_of_stream(native_stream);
}

QueueId queue_of(void* native_stream, const std::shared_ptr<void>& owner) {
  const std::uint64_t retired = retired_queues.load(std::memory_order_acquire);
  auto& last = platform::per_thread<LastQueues>().of(native_stream);
  if (last.native == native_stream && last.retired == retired && last.queue.valid()) return last.queue;
  const Call call;
  Runtime& r = runtime();
  last = {native_stream, id_of(r.engine->adopt_queue(r.engine->state().device_of_stream(native_stream), native_stream, owner)), retired};
  return last.queue;
}

QueueId lease_queue(void* native_stream) {
  const Call call;
  engine::Engine& engine = *runtime().engine;
  // An earlier stream under that handle may lose its queue, also where the call fails.
  const base::AtEnd retired([] { retired_queues.fetch_add(1, std::memory_order_release); });
  return id_of(engine.adopt_queue(engine.state().device_of_stream(native_stream), native_stream, {}, engine::Engine::Lease::one_more));
}

bool leave_lease(QueueId queue) noexcept {
  const Call call;
  Runtime* const r = running();
  if (r == nullptr || !is_current(queue)) return false;
  return r->engine->leave_lease(index_of(queue));
}

Stream new_stream(std::uint32_t device, device::StreamPriority priority) {
  const Call call;
  Runtime& r = runtime();
  expect_device(r, device);
  device::Device& d = *r.engine->state().devices[device]->device;
  std::shared_ptr<void> native = d.new_stream(priority);
  void* const handle = native.get();
  const QueueId queue = id_of(r.engine->adopt_lane(device, handle, std::move(native)));
  if (!is_current(queue)) throw SystemError("there are no more queues: a process can have 95, three of each device among them. Use fewer streams");
  return {device, d.kernels_run_in_caller() ? nullptr : handle, queue};
}

bool is_recording(QueueId queue) {
  if (device::graphs_being_recorded.load(std::memory_order_relaxed) == 0 || !queue.valid()) return false;
  const Call call;
  return runtime().engine->launches.is_recording(index_of(queue));
}

void wait_for_queue(QueueId queue) {
  const Call call;
  runtime().engine->launches.wait_for(index_of(queue));
}

std::uint64_t device_budget(std::uint32_t device) {
  const Presence presence;
  const Runtime& r = runtime();
  expect_device(r, device);
  return r.engine->state().devices[device]->memory->budget_bytes();
}

std::uint64_t device_page_bytes(std::uint32_t device) {
  const Presence presence;
  const Runtime& r = runtime();
  expect_device(r, device);
  return r.engine->state().devices[device]->device->granularity_bytes();
}

policy::Spread spread() {
  const Presence presence;
  return runtime().configuration.spread;
}

bool devices_are_emulated() {
  const Presence presence;
  return runtime().engine->state().home().device->kernels_run_in_caller();
}

namespace {

device::Device& device_at(std::uint32_t device) {
  const Runtime& r = runtime();
  expect_device(r, device);
  return *r.engine->state().devices[device]->device;
}

}  // namespace

OnDevice::OnDevice(std::uint32_t device) : device_(device_at(device)) { device_.enter(); }
OnDevice::~OnDevice() { device_.leave(); }

void retire_queue(QueueId queue) noexcept {
  const Call call;
  Runtime* r = running();
  if (r == nullptr || !is_current(queue)) return;
  // Threads forget the queue before it is given up, and again what they have found meanwhile.
  retired_queues.fetch_add(1, std::memory_order_release);
  r->engine->retire_queue(index_of(queue));
  retired_queues.fetch_add(1, std::memory_order_release);
}

void copy(void* to, const void* from, std::size_t bytes, QueueId queue) { copy_2d(to, bytes, from, bytes, bytes, 1, queue); }

/// @throws UsageError  the address lies in a device array that outlived its runtime, and that has no memory any more
static void expect_memory_at(const Runtime& r, const void* address) {
  if (ended.load(std::memory_order_acquire) == nullptr || array_at(r, address) != nullptr) return;
  const Memory* const m = outlived(address);
  SEMCACHE_EXPECTS(m == nullptr || m->on_host(), "a copy to or from the device array at " + base::text_of(address) +
                                                     ", whose content went with its runtime (semcache::finalize). Copy it before, or allocate it anew");
}

void copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t columns,
             QueueId queue) {
  if (width == 0 || columns == 0) return;
  SEMCACHE_EXPECTS(to != nullptr && from != nullptr, "a copy of " + std::to_string(width) + " bytes " +
                                                         (columns == 1 ? "" : "in each of " + std::to_string(columns) + " columns ") +
                                                         (to == nullptr ? "to" : "from") + " a null pointer");
  const Call call;
  Runtime& r = runtime();
  refuse_recording(queue);
  r.threads->look_around();
  for (const void* const end : {static_cast<const void*>(to), from}) expect_memory_at(r, end);
  r.engine->copies.copy(to, from, {width, columns, to_pitch, from_pitch});
}

void fill(void* to, std::size_t bytes, const void* pattern, std::uint32_t pattern_bytes, QueueId queue) {
  if (bytes == 0) return;
  const Call call;
  Runtime& r = runtime();
  refuse_recording(queue);
  const directory::Fill fill = make_fill(pattern, pattern_bytes);
  if (InAdopted part; find_adopted(r, to, bytes, part)) {
    directory::Fill turned = fill;  // begins where the body does
    for (std::uint32_t i = 0; i < pattern_bytes; ++i) turned.pattern[i] = fill.pattern[(i + part.inside.begin) % pattern_bytes];
    if (!part.inside.empty()) r.engine->copies.fill(*part.body, part.position, part.inside.size(), turned);
    auto* const bytes_of = static_cast<std::uint8_t*>(to);
    for (std::size_t i = 0; i < bytes; ++i) {
      if (i == part.inside.begin) i = part.inside.end;
      if (i < bytes) bytes_of[i] = fill.pattern[i % pattern_bytes];
    }
    return;
  }
  const Located at = locate(r, to, bytes);
  r.engine->copies.fill(*at.memory, at.position, bytes, fill);
}

void filled_by_kernel(void* to, std::size_t bytes, const void* pattern, std::uint32_t pattern_bytes) {
  if (bytes == 0) return;
  const Call call;
  Runtime& r = runtime();
  const Located at = locate(r, to, bytes);
  r.engine->copies.filled(*at.memory, at.position, bytes, make_fill(pattern, pattern_bytes));
}

bool reports_library_calls() noexcept {
  const Presence presence;
  const Runtime* r = running();
  return r != nullptr && r->recorder.counts_library_calls();
}
void note_library_call(const std::string& what, std::uint64_t times) noexcept {
  const Presence presence;
  if (Runtime* r = running()) r->recorder.library_call(what, times);
}

void* allocate_page_locked(std::size_t bytes) {
  const Call call;
  return runtime().engine->state().home().device->allocate_staging(bytes);
}
void deallocate_page_locked(void* memory) noexcept {
  const Call call;
  if (Runtime* r = running()) r->engine->state().home().device->deallocate_staging(static_cast<std::byte*>(memory));
}

void count_external_transfer(std::uint64_t bytes, std::uint32_t device) noexcept {
  const Presence presence;
  if (Runtime* r = running()) {
    r->recorder.moved(trace::Kind::d2h, {}, bytes);
    r->recorder.crossed(device_space(device).value, host_space.value, bytes);
  }
}

MissingBytes missing_bytes(const void* address, std::size_t bytes) {
  const Call call;
  MissingBytes out;
  if (bytes == 0) return out;
  Runtime& r = runtime();
  engine::Missing missing;
  if (InAdopted part; find_adopted(r, address, bytes, part)) {
    if (!part.inside.empty()) missing = r.engine->missing(*part.body, ByteRange{part.position, part.position + part.inside.size()});
  } else {
    const Located at = locate(r, address, bytes);
    missing = r.engine->missing(*at.memory, ByteRange{at.position, at.position + bytes});
  }
  out.from_host = missing.from_host;
  out.filled = missing.filled;
  out.from_devices.assign(missing.from_devices, missing.from_devices + r.engine->state().devices.size());
  return out;
}

}  // namespace semcache::runtime

namespace semcache {

using namespace runtime;  // NOLINT: the public functions are a thin face of this room

void access(const void* address, std::size_t bytes, Access mode) { access_2d(address, bytes, bytes, 1, mode); }

void access_2d(const void* address, std::size_t pitch, std::size_t width, std::size_t columns, Access mode) {
  SEMCACHE_EXPECTS(mode <= Access::overwrite, "access mode " + std::to_string(static_cast<int>(mode)) + " does not exist. Use Access::read, write, read_write or overwrite");
  if (width == 0 || columns == 0) return;
  SEMCACHE_EXPECTS(columns == 1 || pitch >= width, "an access to columns of " + std::to_string(width) + " bytes, which begin " +
                                                       std::to_string(pitch) + " bytes apart: they overlap");
  SEMCACHE_EXPECTS(columns == 1 || (SIZE_MAX - width) / pitch >= columns - 1,
                   "an access to " + std::to_string(columns) + " columns, " + std::to_string(pitch) + " bytes apart: no memory is that large");
  const Call call;
  Runtime& r = runtime::runtime();
  const std::size_t bytes = (columns - 1) * pitch + width;
  if (InAdopted part; find_adopted(r, address, bytes, part)) {
    const std::int64_t distance = static_cast<std::int64_t>(part.position) - static_cast<std::int64_t>(part.inside.begin);
    if (part.inside.empty()) return;
    for_each_inside(Region(0, width, columns, pitch), distance, part.body->bytes,
                    [&](const Region& region) { r.engine->access(*part.body, region, mode); });
    return;
  }
  const Located at = locate(r, address, bytes);
  r.engine->access(*at.memory, Region(at.position, width, columns, pitch), mode);
}

void prefetch(const void* address, std::size_t bytes) {
  if (bytes == 0) return;
  const Call call;
  Runtime& r = runtime::runtime();
  if (InAdopted part; find_adopted(r, address, bytes, part)) {
    if (!part.inside.empty()) r.engine->host_access.prefetch(*part.body, {part.position, part.position + part.inside.size()});
    return;
  }
  const Located at = locate(r, address, bytes);
  SEMCACHE_EXPECTS(at.memory->on_host(), "prefetch brings bytes to the host, but " + base::text_of(address) + " lies in the device array '" +
                                             std::string(r.recorder.name(at.memory->label)) + "'. Name the address on the host");
  r.engine->host_access.prefetch(*at.memory, {at.position, at.position + bytes});
}

void settle(const void* address, std::size_t bytes) { access(address, bytes, Access::read); }

void settle() {
  const Call call;
  if (Runtime* r = running()) r->engine->host_access.settle_all();
}

bool is_tracked(const void* address) noexcept {
  const Presence presence;
  const Runtime* r = running();
  return r != nullptr && (array_at(*r, address) != nullptr || r->engine->state().adopted.find_near(address) != nullptr);
}

}  // namespace semcache
