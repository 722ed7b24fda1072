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

/// SemCache in this process; nullptr: there is none, so no memory is tracked.
[[nodiscard]] const runtime::ForeignIo* io() noexcept;

/// Is the address in a tracked array? What a call with ordinary buffers costs.
[[nodiscard]] inline bool tracked(const void* address) noexcept {
  runtime::TrackedArray array;
  const runtime::ForeignIo* table = io();
  return table != nullptr && table->find(address, array);
}

/// What a receive has brought, where it is one piece.
struct Arrival {
  std::byte* to;
  std::uint64_t bytes;
  const std::byte* from;
  const runtime::Transit* transit;
};

/// A buffer argument in a tracked array. MPI gets private memory in its place, where every byte that the call uses has
/// the same distance from the address, and the same alignment.
class Message {
 public:
  /// fixed: of a persistent request. Each start brings the content to the side that was chosen when it was made.
  enum class Place { where_the_content_is, host, fixed, fixed_on_host };

  /// @param used      all bytes that the call may use
  /// @param read      those whose content it needs
  /// @throws UsageError  they are not all in one array; OutOfMemory
  Message(const void* address, const UsedBytes& used, const UsedBytes& read, UsedBytes written, Place place);
  ~Message();
  Message(Message&& other) noexcept;
  Message& operator=(Message&&) = delete;

  /// What MPI gets for the address.
  [[nodiscard]] void* substitute() const noexcept;
  /// Persistent requests: fetches the content of this start. MPI may use the message after `ready`.
  void start();
  void ready() const;
  /// Persistent requests: the message is complete.
  void rest() const;
  /// The array gets what has arrived: the first `bytes` of what may be written.
  /// @throws UsageError  the array was freed meanwhile
  void deliver(std::uint64_t bytes) const;
  [[nodiscard]] bool receives() const noexcept { return !written_.empty(); }
  /// Would `deliver` write one piece, which may be written together with others? @param arrival  that, if so
  [[nodiscard]] bool is_one_piece(std::uint64_t bytes, Arrival& arrival) const;

 private:
  [[nodiscard]] std::vector<ByteRange> from_hull(const UsedBytes& bytes) const;

  std::byte* first_;         ///< the first byte of the hull in the array
  std::int64_t hull_begin_;  ///< its distance from the address
  runtime::TrackedArray array_;
  std::vector<ByteRange> read_;
  UsedBytes written_;
  std::vector<ByteRange> written_from_hull_;
  std::uint64_t written_bytes_;
  runtime::Transit transit_;
  std::size_t offset_;  ///< of the hull in the private memory
};

/// The tracked buffers of one call. Ordinary buffers pass through.
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
  /// @param used  all that the call may use, read and written among it
  void* updates(void* buffer, const Blocks& used, const Blocks& read, const Blocks& written) {
    if (!concerns(buffer, used)) return buffer;
    return update(buffer, UsedBytes(used), UsedBytes(read), UsedBytes(written));
  }
  void* updates(void* buffer, const Blocks& used) { return updates(buffer, used, used, used); }

  /// Is any block in a tracked array? The buffer's address may be anywhere: looks at the blocks' first bytes, with
  /// derived types at both ends, and at all pieces of types that could lead into several arrays.
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

/// Bytes that a receive or a file has brought.
[[nodiscard]] std::uint64_t received_bytes(const MPI_Status& status);

/// A blocking call: `plan` puts substitutes into its arguments, `forward` calls the library, and what has arrived
/// becomes the arrays' content.
/// @param arrived  how many bytes that is, asked after the call
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
/// @param status  of a receive, which may be shorter than the buffer; nullptr: everything arrives
template <class Plan, class Forward>
int run(const char* name, const ErrorTarget& target, Call call, const MPI_Status* status, Plan&& plan,
        Forward&& forward) {
  return run_and_count(name, target, std::move(call), std::forward<Plan>(plan), std::forward<Forward>(forward),
                       [&] { return status == nullptr ? UINT64_MAX : received_bytes(*status); });
}

/// What the status of a completed request says: how much a receive brought unless it was cancelled, how much a file
/// brought (the rest of the status is not to be looked at), nothing (collectives bring everything).
enum class Completes { as_message, as_message_again_and_again, as_file_access, as_a_whole, as_a_whole_again_and_again };
[[nodiscard]] constexpr bool again_and_again(Completes c) noexcept {
  return c == Completes::as_message_again_and_again || c == Completes::as_a_whole_again_and_again;
}

[[nodiscard]] bool is_complete(MPI_Request request);

/// The request and its tracked buffers belong together until it completes. Errors are raised at `target` then, too.
void remember(const ErrorTarget& target, MPI_Request request, Call&& call, Completes completes);

/// A call that only starts something.
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
    // Open MPI has one handle for all requests that are complete at once: nothing can be remembered of it.
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
