// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <fakes/machine.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace semcache::fakes {

/// A short program for a test: a Machine whose failures fail the test, and which audits the engine at its end.
struct Program : Machine {
  explicit Program(const Options& options = defaults())
      : Machine(options, [](const std::string& text) { ADD_FAILURE() << text; }) {}
  ~Program() {
    for (auto m = arrays_.rbegin(); m != arrays_.rend(); ++m) engine().lifetimes.deallocate(*m);
    engine().audit();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Options of a device that carries out no work before a thread waits for it.
  static Options defaults() {
    Options o;
    o.device.eagerness = 0;
    o.engine.device_memory_bytes = 4u << 20;
    return o;
  }
  /// Options of an emulated device, whose memory the host reaches.
  static Options emulated() {
    Options o = defaults();
    o.device.kind = device::DeviceKind::emulated;
    o.device.asynchronous = false;
    return o;
  }
  /// Options of an emulated device whose pages notice unannounced uses.
  static Options guarded() {
    Options o = emulated();
    o.engine.device_faults = true;
    return o;
  }
  engine::Memory& on_device(std::uint64_t bytes, std::uint32_t device = 0) {
    arrays_.push_back(engine().lifetimes.allocate_device(device, "device array", bytes));
    return *arrays_.back();
  }
  engine::Memory& on_host(std::uint64_t bytes, engine::Memory* partner = nullptr) {
    arrays_.push_back(engine().lifetimes.allocate_host("host array", bytes, partner));
    return *arrays_.back();
  }
  void free(engine::Memory& m) {
    arrays_.erase(std::find(arrays_.begin(), arrays_.end(), &m));
    engine().lifetimes.deallocate(&m);
  }
  /// Launches a kernel that uses parts of one array. It writes the columns that it may write with mix(seed, position).
  /// @param ran  is set when the kernel has run
  void launch_parts(const Stream& stream, std::vector<engine::Requirement> parts, std::uint64_t seed = 0, bool* ran = nullptr) {
    engine::Memory& m = *parts.front().memory;
    bool writable = false;
    for (const engine::Requirement& part : parts) writable = writable || writes(part.mode);
    const std::vector<engine::Operand> operands{{&m, writable}};
    const std::vector<FakeDevice::Touch> touches = Machine::touches(operands, parts);
    const std::vector<engine::Requirement> given = parts;
    const engine::QueueIndex q = queue(stream.native, device().device_of(stream));
    const bool in_part = engine().launches.begin_launch(q, operands.data(), 1, {parts.data(), parts.size()});
    device().launch(stream, touches, [given, base = m.address, seed, ran] {
      for (const engine::Requirement& part : given) {
        for (std::uint64_t c = 0; c < part.range.columns && writes(part.mode); ++c) {
          for (std::uint64_t i = part.range.column(c).begin; i < part.range.column(c).end; ++i) base[i] = mix(seed, i);
        }
      }
      if (ran != nullptr) *ran = true;
    });
    engine().launches.end_launch(q, operands.data(), 1, all_devices, {parts.data(), in_part ? parts.size() : 0});
  }
  void fill(engine::Memory& m, std::uint8_t byte) {
    directory::Fill f;
    f.pattern[0] = byte;
    f.pattern_bytes = 1;
    engine().copies.fill(m, 0, m.bytes, f);
  }
  void expect_host(engine::Memory& m, ByteRange range, std::uint64_t seed) {
    std::vector<std::byte> seen(range.size());
    host_read(m, range, seen.data());
    expect(seen, range, seed, "host");
  }
  void expect_host(engine::Memory& m, std::uint64_t seed) { expect_host(m, m.all(), seed); }
  void expect_device(engine::Memory& m, ByteRange range, std::uint64_t seed, const Stream& stream = nullptr) {
    const std::vector<std::byte> all = device_content(stream, m);
    expect({all.begin() + static_cast<std::ptrdiff_t>(range.begin), all.begin() + static_cast<std::ptrdiff_t>(range.end)},
           range, seed, "device");
  }
  void expect_device(engine::Memory& m, std::uint64_t seed) { expect_device(m, m.all(), seed); }
  static void expect(const std::vector<std::byte>& seen, ByteRange range, std::uint64_t seed, const char* where) {
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      if (seen[i - range.begin] == mix(seed, i)) continue;
      ADD_FAILURE() << where << ": byte " << i << " is not that of write " << seed;
      return;
    }
  }
  static platform::Protection protection(Program& p, const engine::Memory& m, std::uint64_t position) {
    return p.platform().protection(m.address + position);
  }

 private:
  std::vector<engine::Memory*> arrays_;
};

}  // namespace semcache::fakes
