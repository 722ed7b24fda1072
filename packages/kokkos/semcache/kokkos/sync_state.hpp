// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/capture.hpp>

#include <atomic>

namespace semcache::kokkos {

/// The flags of a DualView, shared by its copies and subviews. They are kept on the host and do not affect the data. Kernels may
/// capture them together with their DualView; there they do nothing.
class SyncState {
 public:
  enum Side : unsigned { host = 0, device = 1 };

  KOKKOS_FUNCTION SyncState() {}
  static SyncState make() {
    SyncState state;
    state.block_ = new Block;
    return state;
  }
  KOKKOS_FUNCTION SyncState(const SyncState& other) : block_(other.block_) { share(other); }
  KOKKOS_FUNCTION SyncState(SyncState&& other) noexcept : block_(other.block_) { other.block_ = nullptr; }
  KOKKOS_FUNCTION SyncState& operator=(SyncState other) noexcept {
    Block* const mine = block_;
    block_ = other.block_;
    other.block_ = mine;
    return *this;
  }
  KOKKOS_FUNCTION ~SyncState() { release(); }

  explicit operator bool() const { return block_ != nullptr; }

  void modify(Side side) const noexcept {
    if (!block_) return;
    const unsigned latest = std::max(block_->writes[host].load(), block_->writes[device].load());
    block_->writes[side].store(latest + 1);
  }
  /// Clears the flags if `side` needs a sync. A sync to the side that was written last does nothing, as in Kokkos.
  void sync(Side side) const noexcept {
    if (needs_sync(side)) clear();
  }
  [[nodiscard]] bool needs_sync(Side side) const noexcept {
    return block_ && block_->writes[1 - side].load() > block_->writes[side].load();
  }
  void clear() const noexcept {
    if (!block_) return;
    block_->writes[host].store(0);
    block_->writes[device].store(0);
  }

 private:
  struct Block {
    std::atomic<int> references{1};
    std::atomic<unsigned> writes[2] = {{0}, {0}};
  };

  KOKKOS_FUNCTION void share([[maybe_unused]] const SyncState& source) const noexcept {
    SEMCACHE_KOKKOS_ON_HOST(if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
                            // A kernel does not follow this pointer, so it must not make the launch unknown.
                            detail::record_mirror_copy(this, &source, &detail::recognised_words<sizeof(SyncState)>);)
  }
  KOKKOS_FUNCTION void release() noexcept {
    SEMCACHE_KOKKOS_ON_HOST(
        if (block_ && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete block_;)
  }

  Block* block_ = nullptr;
};

}  // namespace semcache::kokkos
