// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/lifetime.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

/// `ForeignIo`, the table for libraries that are loaded in front of MPI and of system calls: it serves code whose accesses are
/// not noticed.
namespace semcache::runtime {

using engine::Engine;
using engine::Memory;

namespace {

bool find_array(const void* address, TrackedArray& array) noexcept {
  const Presence presence;
  Runtime* r = running();
  if (r == nullptr) return false;
  const Memory* m = r->engine->state().find(address);
  if (m == nullptr) m = r->engine->state().adopted.find_near(address);
  if (m == nullptr || !m->live || m->snapshot()) return false;
  if (m->adopted) {  // the whole range, of which the edges are ordinary memory
    array = {m->address - m->edge_before, m->edge_before + m->bytes + m->edge_behind, true, r->recorder.name(m->label), m,
             m->incarnation.load(), epoch()};
    return true;
  }
  array = {m->address, m->bytes, m->on_host(), r->recorder.name(m->label), m, m->incarnation.load(), epoch()};
  return true;
}

bool still_there(const TrackedArray& array) noexcept {
  const Presence presence;
  if (running() == nullptr || epoch() != array.epoch) return true;
  return array.memory->incarnation.load() == array.incarnation;
}

Transit take_transit(std::size_t bytes, base::Side where, const void* beside) {
  const Call call;
  Runtime& r = runtime();
  engine::TransitBuffer* buffer = nullptr;
  if (where == base::Side::device) {
    try {
      buffer = r.engine->buffers.take(bytes, base::Side::device, r.engine->state().find_device(beside));
    } catch (const OutOfMemory&) {  // host memory serves as well
    }
  }
  if (buffer == nullptr) buffer = r.engine->buffers.take(bytes, base::Side::host);
  return {buffer->address, buffer->on_device(), buffer, epoch()};
}

/// Returns the engine from which the message was taken, or nullptr if its runtime has ended.
Engine* engine_of(const Transit& transit) noexcept {
  Runtime* r = running();
  return r != nullptr && epoch() == transit.epoch ? r->engine.get() : nullptr;
}

void give_transit(const Transit& transit) noexcept {
  if (transit.buffer == nullptr) return;
  const Call call;
  // A buffer that outlives its runtime stays allocated, because the engine that allocated it may have been destroyed.
  if (Engine* engine = engine_of(transit)) engine->buffers.give(transit.buffer);
}

void settle_transit(const Transit& transit) {
  const Call call;
  if (Engine* engine = engine_of(transit)) engine->foreign_io.settle_buffer(*transit.buffer);
}

Located locate_pieces(Runtime& r, const void* address, const ByteRange* pieces, std::size_t count) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < count; ++i) end = std::max(end, pieces[i].end);
  return locate(r, address, end);
}

/// The pieces of a message that is not all in the body of an adopted range.
struct PartlyAdopted {
  InAdopted part;
  std::vector<ByteRange> in_body;
  std::vector<ByteRange> beside;  ///< in ordinary memory
  std::uint64_t position = 0;     ///< of the message's address in the body; modulo 2^64, because it may lie in front of it

  PartlyAdopted(Runtime& r, const void* address, const ByteRange* pieces, std::size_t count) {
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < count; ++i) end = std::max(end, pieces[i].end);
    is_ = find_adopted(r, address, end, part);
    if (!is_) return;
    if (part.body != nullptr) position = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - part.body->address);
    const auto add = [](std::vector<ByteRange>& to, ByteRange piece) {
      if (!piece.empty()) to.push_back(piece);
    };
    for (std::size_t i = 0; i < count; ++i) {
      add(in_body, intersect(pieces[i], part.inside));
      add(beside, intersect(pieces[i], {0, part.inside.begin}));
      add(beside, intersect(pieces[i], {std::max(part.inside.begin, part.inside.end), end}));
    }
  }
  [[nodiscard]] explicit operator bool() const noexcept { return is_; }

 private:
  bool is_ = false;
};

bool valid_here(const void* address, const ByteRange* pieces, std::size_t count) {
  const Call call;
  Runtime& r = runtime();
  if (const PartlyAdopted partly(r, address, pieces, count); partly) {
    return partly.in_body.empty() ||
           r.engine->foreign_io.valid_here(*partly.part.body, partly.position, partly.in_body.data(), partly.in_body.size());
  }
  const Located at = locate_pieces(r, address, pieces, count);
  return r.engine->foreign_io.valid_here(*at.memory, at.position, pieces, count);
}

/// Returns the place of `address` in the host pages of an array that outlived its runtime; these pages are open.
/// @throws UsageError  no such array holds the address
std::byte* outlived_pages(const void* address, const char* what) {
  const Memory* const m = outlived(address);
  if (m != nullptr && m->on_host()) return m->address + (static_cast<const std::byte*>(address) - m->address);
  throw UsageError(std::string(what) + " before semcache's end (Kokkos::finalize)");
}

void read_out(const void* address, const ByteRange* pieces, std::size_t count, const Transit& transit,
              std::size_t offset) {
  const Call call;
  if (Engine* engine = engine_of(transit)) {
    if (const PartlyAdopted partly(*running(), address, pieces, count); partly) {
      // First, because it waits for what earlier calls do with the message's memory.
      engine->foreign_io.settle_buffer(*transit.buffer);
      for (const ByteRange piece : partly.beside) {
        std::memcpy(transit.address + offset + piece.begin, static_cast<const std::byte*>(address) + piece.begin, piece.size());
      }
      if (partly.in_body.empty()) return;
      return engine->foreign_io.read_out(*partly.part.body, partly.position, partly.in_body.data(), partly.in_body.size(), *transit.buffer,
                                         transit.address + offset);
    }
    const Located at = locate_pieces(*running(), address, pieces, count);
    engine->foreign_io.read_out(*at.memory, at.position, pieces, count, *transit.buffer, transit.address + offset);
    return;
  }
  const std::byte* from = outlived_pages(address, "a message is started on an array whose runtime has ended. Start it");
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(transit.address + offset + pieces[i].begin, from + pieces[i].begin, pieces[i].size());
  }
}

void expect(const void* address, const ByteRange* pieces, std::size_t count, const Transit& transit,
            std::size_t offset) noexcept {
  const Call call;
  Engine* engine = engine_of(transit);
  if (engine == nullptr) return;
  try {
    const Located at = locate_pieces(*running(), address, pieces, count);
    engine->foreign_io.expect_read_out(*at.memory, at.position, pieces, count, *transit.buffer, transit.address + offset);
  } catch (const std::exception&) {  // this is a hint only: `read_out` reports what is wrong with the array
  }
}

void write_in(void* address, const ByteRange* pieces, std::size_t count, const Transit& transit, std::size_t offset) {
  const Call call;
  if (Engine* engine = engine_of(transit)) {
    if (const PartlyAdopted partly(*running(), address, pieces, count); partly) {
      if (!partly.in_body.empty()) {  // first, because it may fail
        engine->foreign_io.write_in(*partly.part.body, partly.position, partly.in_body.data(), partly.in_body.size(), *transit.buffer,
                                    transit.address + offset);
      }
      for (const ByteRange piece : partly.beside) {
        std::memcpy(static_cast<std::byte*>(address) + piece.begin, transit.address + offset + piece.begin, piece.size());
      }
      return;
    }
    const Located at = locate_pieces(*running(), address, pieces, count);
    engine->foreign_io.write_in(*at.memory, at.position, pieces, count, *transit.buffer, transit.address + offset);
    return;
  }
  std::byte* to = outlived_pages(address, "a message arrives for an array whose runtime has ended. Complete it");
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + pieces[i].begin, transit.address + offset + pieces[i].begin, pieces[i].size());
  }
}

Transit take_beside(const void* first, std::size_t bytes) {
  const Call call;
  Runtime& r = runtime();
  const Located at = locate(r, first, bytes);
  engine::TransitBuffer* const buffer = r.engine->buffers.take_beside(*at.memory, {at.position, at.position + bytes});
  return buffer == nullptr ? Transit{} : Transit{buffer->address, false, buffer, epoch()};
}

bool write_in_together(void* first, std::size_t bytes, const Transit* const* transits, std::size_t count) {
  const Call call;
  std::vector<engine::TransitBuffer*> buffers(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (engine_of(*transits[i]) == nullptr) return false;
    buffers[i] = transits[i]->buffer;
  }
  if (InAdopted part; find_adopted(*running(), first, bytes, part)) return false;
  const Located at = locate(*running(), first, bytes);
  return running()->engine->foreign_io.write_in_together(*at.memory, {at.position, at.position + bytes}, buffers.data(), count);
}

DeviceAddresses device_addresses() {
  const Presence presence;
  Runtime& r = runtime();
  switch (r.configuration.mpi_cuda) {
    case Switch::on: return DeviceAddresses::always;
    case Switch::off: return DeviceAddresses::never;
    case Switch::automatic: break;
  }
  return r.engine->state().home().device->kernels_run_in_caller() ? DeviceAddresses::never : DeviceAddresses::if_library_can;
}

bool overlaps(const void* first, const void* last) noexcept {
  const Presence presence;
  const Runtime* r = running();
  return r != nullptr && r->engine->state().overlaps(static_cast<const std::byte*>(first), static_cast<const std::byte*>(last));
}

constexpr ForeignIo foreign_io{&find_array, &still_there, &take_transit, &give_transit,     &settle_transit, &valid_here,
                               &read_out,   &expect,      &write_in,     &device_addresses, &overlaps,       &take_beside,
                               &write_in_together};

}  // namespace

}  // namespace semcache::runtime

extern "C" const semcache::runtime::ForeignIo* semcache_foreign_io_1() noexcept { return &semcache::runtime::foreign_io; }
