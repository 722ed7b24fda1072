// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "errors.hpp"
#include "used_bytes.hpp"

#include <semcache/mpi.hpp>
#include <semcache/runtime/runtime.hpp>

#include <exception>
#include <utility>
#include <vector>

namespace semcache::mpi {

/// Returns SemCache's functions for code whose accesses are not noticed, or nullptr where this process has no SemCache and
/// therefore no tracked memory.
[[nodiscard]] const runtime::ForeignIo* io() noexcept;

/// Returns whether the address is in a tracked array. For a call with ordinary buffers this check is the whole cost.
[[nodiscard]] inline bool tracked(const void* address) noexcept {
  runtime::TrackedArray array;
  const runtime::ForeignIo* table = io();
  return table != nullptr && table->find(address, array);
}

/// What a receive has brought, if it is one piece.
struct Arrival {
  std::byte* to;                    ///< where it belongs in the array
  std::uint64_t bytes;              ///< its size
  const std::byte* from;            ///< where it is in the private memory
  const runtime::Transit* transit;  ///< the private memory
};

/// A buffer argument in a tracked array. MPI gets private memory in its place. There every byte that the call uses has the
/// same distance from the substitute address as it has from the original one, and the same alignment.
class Message {
 public:
  /// Where the private memory is. `fixed` and `fixed_on_host` are the places of persistent requests: the side is chosen
  /// when the request is made, and each start brings the content to it.
  enum class Place { where_the_content_is, host, fixed, fixed_on_host };

  /// Takes private memory. Unless `place` is a fixed one, the content of `read` is in it when the constructor returns.
  /// @param used      all bytes that the call may use
  /// @param read      the bytes whose content the call needs
  /// @param written   the bytes that the call may write, in the order in which they arrive
  /// @throws UsageError  the used bytes are not all in one array
  /// @throws OutOfMemory
  Message(const void* address, const UsedBytes& used, const UsedBytes& read, UsedBytes written, Place place);
  ~Message();
  Message(Message&& other) noexcept;
  Message& operator=(Message&&) = delete;

  /// Returns the address that MPI gets instead of the original one.
  [[nodiscard]] void* substitute() const noexcept;
  /// Begins to fetch the content of this start of a persistent request. MPI may use the message after `ready`.
  void start();
  /// Waits until no transfer uses the private memory any more.
  void ready() const;
  /// Declares the message of a persistent request complete. Its content for the next start may be brought from now on.
  void rest() const;
  /// Makes what has arrived the array's new content: the first `bytes` of the bytes that may be written.
  /// @throws UsageError  the array was freed while the call was under way
  void deliver(std::uint64_t bytes) const;
  [[nodiscard]] bool receives() const noexcept { return !written_.empty(); }
  /// Returns whether `deliver` would write a single piece that may be written together with those of other messages.
  /// @param arrival  receives that piece, if so
  [[nodiscard]] bool is_one_piece(std::uint64_t bytes, Arrival& arrival) const;

 private:
  [[nodiscard]] std::vector<ByteRange> from_hull(const UsedBytes& bytes) const;

  std::byte* first_;         ///< the first byte of the hull in the array
  std::int64_t hull_begin_;  ///< distance of the hull's first byte from the buffer's address
  runtime::TrackedArray array_;
  std::vector<ByteRange> read_;
  UsedBytes written_;
  std::vector<ByteRange> written_from_hull_;
  std::uint64_t written_bytes_;
  runtime::Transit transit_;
  std::size_t offset_;  ///< of the hull in the private memory
};

/// The tracked buffers of one call. `reads`, `writes` and `updates` return the address that MPI gets for a buffer: the
/// substitute for a tracked one, the buffer itself for an ordinary one. They throw as the constructor of Message does.
class Call {
 public:
  explicit Call(Message::Place place = Message::Place::where_the_content_is) : place_(place) {}

  const void* reads(const void* buffer, MPI_Count count, MPI_Datatype type) {
    return concerns(buffer, count, type) ? read(buffer, UsedBytes(count, type)) : buffer;
  }
  void* writes(void* buffer, MPI_Count count, MPI_Datatype type) {
    return concerns(buffer, count, type) ? write(buffer, UsedBytes(count, type)) : buffer;
  }
  void* updates(void* buffer, MPI_Count count, MPI_Datatype type) {
    if (!concerns(buffer, count, type)) return buffer;
    const UsedBytes used(count, type);
    return update(buffer, used, used, used);
  }
  const void* reads(const void* buffer, const Blocks& used) {
    return concerns(buffer, used) ? read(buffer, UsedBytes(used)) : buffer;
  }
  void* writes(void* buffer, const Blocks& used) {
    return concerns(buffer, used) ? write(buffer, UsedBytes(used)) : buffer;
  }
  /// @param used  all blocks that the call may use, including those that it reads and writes
  void* updates(void* buffer, const Blocks& used, const Blocks& read, const Blocks& written) {
    if (!concerns(buffer, used)) return buffer;
    return update(buffer, UsedBytes(used), UsedBytes(read), UsedBytes(written));
  }
  void* updates(void* buffer, const Blocks& used) { return updates(buffer, used, used, used); }

  /// Returns whether any block is in a tracked array. The buffer's address may be anywhere, so the blocks themselves are
  /// checked: the first byte of each block, the first and the last byte with derived types, and all pieces with types that
  /// could lead into several arrays.
  [[nodiscard]] static bool concerns(const void* buffer, const Block* blocks, std::size_t count);
  [[nodiscard]] static bool concerns(const void* buffer, const Blocks& blocks) {
    return concerns(buffer, blocks.data(), blocks.size());
  }
  [[nodiscard]] static bool concerns(const void* buffer, MPI_Count count, MPI_Datatype type) {
    const Block block{0, count, type};
    return concerns(buffer, &block, 1);
  }

  [[nodiscard]] bool empty() const noexcept { return messages_.empty(); }
  [[nodiscard]] bool receives() const noexcept;
  void start();
  void ready() const;
  void rest() const;
  void deliver(std::uint64_t bytes = UINT64_MAX) const;
  [[nodiscard]] bool is_one_piece(std::uint64_t bytes, Arrival& arrival) const;

 private:
  const void* read(const void* buffer, const UsedBytes& used);
  void* write(void* buffer, const UsedBytes& used);
  void* update(void* buffer, const UsedBytes& used, const UsedBytes& read, const UsedBytes& written);

  Message::Place place_;
  std::vector<Message> messages_;
};

/// Returns how many bytes a receive or a file access has brought.
[[nodiscard]] std::uint64_t received_bytes(const MPI_Status& status);

/// Makes a blocking call: `plan` puts substitutes into its arguments, `forward` calls the library, and what has arrived
/// becomes the arrays' content. Failures of the layer are raised at `target`.
/// @param arrived  returns how many bytes have arrived; called after `forward`
/// @return the library's code, or that of the layer's own error
template <class Plan, class Forward, class Arrived>
int run_and_count(const char* name, const ErrorTarget& target, Call call, Plan&& plan, Forward&& forward,
                  Arrived&& arrived) {
  try {
    plan(call);
  } catch (const std::exception& e) {
    return refuse(target, Refusal::failed, name, e.what());
  }
  const int code = forward();
  if (code != MPI_SUCCESS || call.empty()) return code;
  try {
    call.deliver(arrived());
  } catch (const std::exception& e) {
    return refuse(target, Refusal::failed, name, e.what());
  }
  return code;
}
/// Makes a blocking call as `run_and_count` does, with the number of bytes from the library's status.
/// @param status  the status of a receive, which may be shorter than the buffer; nullptr where everything arrives
template <class Plan, class Forward>
int run(const char* name, const ErrorTarget& target, Call call, const MPI_Status* status, Plan&& plan,
        Forward&& forward) {
  return run_and_count(name, target, std::move(call), std::forward<Plan>(plan), std::forward<Forward>(forward),
                       [&] { return status == nullptr ? UINT64_MAX : received_bytes(*status); });
}

/// What the status of a completed request tells the layer. `as_message`: whether the message was cancelled, and otherwise
/// how many bytes it brought. `as_file_access`: how many bytes the file brought; the rest of the status must not be read.
/// `as_a_whole`: nothing, because a collective always brings everything. Persistent requests are `again_and_again`.
enum class Completes { as_message, as_message_again_and_again, as_file_access, as_a_whole, as_a_whole_again_and_again };
[[nodiscard]] constexpr bool again_and_again(Completes c) noexcept {
  return c == Completes::as_message_again_and_again || c == Completes::as_a_whole_again_and_again;
}

/// Returns whether the library reports the request as complete. The request is not freed.
[[nodiscard]] bool is_complete(MPI_Request request);

/// Keeps the tracked buffers of the request until it completes, or, if persistent, until it is freed. Errors at completion are
/// raised at `target`, too.
void remember(const ErrorTarget& target, MPI_Request request, Call&& call, Completes completes);

/// Makes a call that only starts something, or that makes a persistent request: `plan` puts substitutes into its arguments,
/// `forward` calls the library, and the tracked buffers are kept until the request completes.
/// @return the library's code, or that of the layer's own error
template <class Plan, class Forward>
int start(const char* name, const ErrorTarget& target, Call call, MPI_Request* request, Completes completes,
          Plan&& plan, Forward&& forward) {
  try {
    plan(call);
  } catch (const std::exception& e) {
    return refuse(target, Refusal::failed, name, e.what());
  }
  const int code = forward();
  if (code != MPI_SUCCESS || call.empty()) return code;
  if (completes == Completes::as_a_whole && is_complete(*request)) {
    // Open MPI uses one handle for all requests that are complete at once, so nothing can be kept under it.
    try {
      call.deliver();
    } catch (const std::exception& e) {
      return refuse(target, Refusal::failed, name, e.what());
    }
    return MPI_SUCCESS;
  }
  remember(target, *request, std::move(call), completes);
  return MPI_SUCCESS;
}

}  // namespace semcache::mpi
