// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <fakes/lent_block.hpp>
#include <fakes/machine.hpp>
#include <fakes/replay.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace semcache::fakes {

/// A program of random moves on a Machine, with a plain byte array per datum that holds the content which every reader must see.
/// The engine's steps are repeated on flat arrays (`Replay`), which must give the same bytes and counts.
/// Each failure names the seed and the last moves.
class Oracle {
 public:
  enum class Failures { none, at_random, in_turn };
  struct Options {
    std::uint64_t seed = 1;
    engine::Protocol protocol = engine::Protocol::write_back;
    bool check = false;          ///< SEMCACHE_CHECK
    bool check_writes = false;
    bool emulated = false;       ///< the engine's synchronous paths
    bool device_faults = false;  ///< the host uses device memory unannounced, and the memory's pages notice it
    bool registers_host = true;
    std::uint32_t devices = 1;   ///< at most four
    bool peer_access = true;     ///< the devices reach each other
    /// Which of the calls in `failing` fail: some at random, or each call of each move in turn (the move is repeated after each).
    /// A move that must end the process on a failure is spared: a host fault, and freeing (except if memory is exhausted).
    Failures failures = Failures::none;
    unsigned failing = FakeDevice::call_all;  ///< a mask of the calls that may fail
    bool adopts = false;         ///< some host arrays are memory of the program's own, adopted
    bool few_mappings = false;   ///< the kernel's limit on mappings is near
    bool large = false;          ///< arrays have up to several huge pages
    std::uint64_t registration_pages = 16384;  ///< pages in a piece that is page-locked as a whole
    std::uint64_t page_bytes = fakes::page_bytes();
    std::uint64_t granularity_bytes = std::max<std::uint64_t>(16 * 1024, page_bytes);
    bool blocks = false;             ///< arrays of two granules or more are mapped and evicted by block
    std::uint64_t budget_bytes = 0;  ///< 0: a third of the payload
  };

  explicit Oracle(const Options& options);
  ~Oracle();
  /// Makes `moves` moves, and stops at the first failure. Returns true if there was none.
  bool run(std::uint64_t moves);
  /// Reads all content from every side, and compares it.
  void compare_everything();
  /// Returns the seed and the last moves.
  [[nodiscard]] std::string story() const;
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] Counters counters() const { return machine_->counters(); }
  [[nodiscard]] std::uint64_t injected() const { return injected_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::uint64_t steps() const { return replay_.steps(); }

 private:
  /// A datum: the content that its bytes must have, and its sides.
  struct Array {
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> defined;
    bool all_defined = false;
    engine::Memory* device = nullptr;
    engine::Memory* host = nullptr;
    Region last_tile;
    std::vector<engine::Memory*> parts;
    /// Of an array whose host side is the body of adopted memory: that memory, and the content of its edges, by the position in it.
    std::unique_ptr<LentBlock> lent;
    std::vector<std::byte> edges;
    std::vector<std::uint8_t> edges_defined;
  };
  /// Bytes of an array, or of all of the adopted memory of which the array is the body.
  struct Part {
    Array* array;
    bool with_edges;
    [[nodiscard]] std::uint64_t size() const { return with_edges ? array->lent->bytes() : array->bytes.size(); }
    [[nodiscard]] bool in_edge(std::uint64_t i) const { return with_edges && i - array->lent->front() >= array->bytes.size(); }
    std::byte& byte(std::uint64_t i) const {
      return in_edge(i) ? array->edges[i] : array->bytes[with_edges ? i - array->lent->front() : i];
    }
    std::uint8_t& defined(std::uint64_t i) const {
      return in_edge(i) ? array->edges_defined[i] : array->defined[with_edges ? i - array->lent->front() : i];
    }
  };
  struct Expected {
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> defined;
    bool all_defined = false;
  };

  void fail(const std::string& text);
  void move();
  void new_array();
  void new_lent_array(std::uint64_t body_bytes);
  /// Notes the content of adopted memory, which is all `byte`.
  void note_lent(Array& a, std::byte byte);
  void release_lent(std::size_t index);
  void use_edges();
  void copy_with_edges();
  void free_side(std::size_t index, bool device);
  void host_read();
  void host_write();
  void raw_use();
  void announced_access();
  enum class Launched { known, unknown, task };
  /// @param with  an array that is among the operands; nullptr: any  @param on  the stream; nullptr: any
  /// @return an array that it writes; nullptr: none, or the launch was refused
  Array* launch(Launched how, Array* with = nullptr, void* on = nullptr);
  void task();
  void native_launch();
  void derive();
  /// @param with, on  as of `launch`
  void foreign_call(Array* with = nullptr, void* on = nullptr);
  void fill_by_kernel();
  void use_parts();
  void use_part();
  void use_device_part(Array& a, engine::Memory& part, const Region& where);
  [[nodiscard]] Region rectangle_of(const Region& part);
  void use_host_part(Array& a, engine::Memory& part, Access mode);
  void free_part(Array& a);
  void copy();
  void copy_columns();
  void copy_open();
  void copy_crumbs();
  void copy_foreign_device();
  void fill();
  void settle();
  void prefetch();
  void reallocate();
  void retire_queue();
  void destroy_stream(void* stream);
  void message_out();
  void message_in();
  /// Waits for all work, and compares the replay's bytes and counts with the engine's.
  void compare_replay();

  /// Bytes of an array for code whose accesses are not noticed: sent once, or repeatedly (a persistent message).
  struct Message {
    Array* array = nullptr;
    engine::Memory* memory = nullptr;
    std::uint64_t position = 0;
    std::vector<ByteRange> pieces;  ///< relative to `position`, and to the buffer's first byte
    engine::TransitBuffer* buffer = nullptr;
  };
  [[nodiscard]] Message random_message();
  [[nodiscard]] bool take_buffer(Message& message);
  void send(Message& message);
  void drop_messages_of(const engine::Memory* memory);

  [[nodiscard]] Array& pick();
  [[nodiscard]] ByteRange sub_range(std::uint64_t size);
  /// Returns a stream of the device.
  [[nodiscard]] void* pick_stream(std::uint32_t device);
  [[nodiscard]] std::uint32_t pick_device();
  /// Returns the device for a kernel that uses the array: mostly its own.
  [[nodiscard]] std::uint32_t device_for(const engine::Memory& m);
  [[nodiscard]] bool reaches(std::uint32_t device, const engine::Memory& m) const;
  void check(const Expected& expected, ByteRange range, const std::byte* seen, const std::string& who);
  [[nodiscard]] static Expected expect(const Array& a) { return {a.bytes, a.defined, a.all_defined}; }
  static void define(Array& a, ByteRange range);
  static void forget(Array& a, ByteRange range);
  void forget_pieces(Array& a, const engine::Memory& m, ByteRange range);
  void write(Array& a, ByteRange range, std::uint64_t seed);
  /// Does the same for a write by a kernel, and notes it in the replay.
  void write_by_kernel(Array& a, ByteRange range, std::uint64_t seed);
  /// Runs `body`; returns false if it failed in a way in which an injected failure or a full device may make it fail.
  template <class Body>
  bool attempt(Body&& body);
  template <class Body>
  bool attempt_once(Body&& body);
  /// Makes the k-th of the next calls of some kind fail.
  void arm();
  void disarm();
  /// Runs `body`, which goes on after a failure; if failures are injected, some call may fail in `percent` of the cases.
  template <class Body>
  void survive(unsigned percent, Body&& body);
  [[nodiscard]] bool adopt(void* stream, engine::QueueIndex& queue);
  [[nodiscard]] ByteRange host_pages(const Array& a, ByteRange range) const;
  /// Returns how many columns a region may have, about. Where each call for each of them fails in turn, many would take minutes.
  [[nodiscard]] std::uint64_t most_columns() const { return options_.failures == Failures::in_turn ? 8 : 90; }
  void note(std::string text);
  void order_program(void* stream, const std::vector<engine::Operand>& operands);
  void order_program(void* stream, const std::vector<FakeDevice::Touch>& touches);
  /// Returns parts of some of the operands.
  [[nodiscard]] std::vector<engine::Requirement> random_parts(const std::vector<engine::Operand>& operands);
  /// Returns writes of a kernel that uses these parts: all of what it overwrites, and some of what it may write.
  [[nodiscard]] std::vector<Machine::Write> writes_of_parts(const std::vector<engine::Operand>& operands,
                                                            const std::vector<engine::Requirement>& parts);
  static void forget_overwritten(Array& a, const std::vector<engine::Requirement>& parts);
  [[nodiscard]] static std::size_t index_of(const std::vector<engine::Operand>& operands, const engine::Requirement& part);
  static void expect_parts(Expected& expected, const engine::Memory& m, const std::vector<engine::Requirement>& parts);
  /// A derived value that is in use, and what it must be.
  struct Derived {
    engine::Derivation* derivation;
    engine::Memory* memory;
    std::vector<std::byte> bytes;
  };
  bool compute_derived(Array& a, ByteRange r, std::byte turn, const Derived& derived);
  void read_derived(const Derived& derived);
  [[nodiscard]] bool is_open(const engine::Requirement& part);
  void use_by_faults(Array& a, const Expected& expected, const std::vector<engine::Requirement>& parts, const std::vector<Machine::Write>& writes);
  std::function<void()> kernel_body(std::vector<engine::Operand> operands, std::vector<Expected> expected,
                                    std::vector<Machine::Write> writes, std::string name);

  Options options_;
  Random random_;
  std::map<void*, unsigned> leases_;  ///< leases of each stream
  Replay replay_;
  std::unique_ptr<Machine> machine_;
  std::vector<Message> persistent_;
  std::vector<std::unique_ptr<Array>> arrays_;
  std::byte* foreign_ = nullptr;  ///< device memory that is not the engine's
  std::vector<std::byte> foreign_bytes_;
  std::array<std::string, 32> last_moves_;
  std::uint64_t moves_ = 0;
  std::uint64_t notes_ = 0;
  std::uint64_t next_seed_ = 1;
  std::uint64_t injected_ = 0;
  std::uint64_t refused_ = 0;
  std::vector<Derived> derived_;
  const engine::Memory* derived_from_ = nullptr;
  ByteRange derived_range_;
  std::uint64_t derive_in_ = 0;  ///< so many moves from now, the same value is asked for again
  unsigned streams_ = 1;
  bool failed_ = false;
  bool trace_ = false;
};

}  // namespace semcache::fakes
