// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/tpetra/host_side.hpp>

#include <mutex>
#include <unordered_map>

namespace semcache::tpetra {
namespace {

/// The part of the host side's allocation record that removes the array from the registry when the record ends.
struct Registration {
  const void* host = nullptr;
  ArrayId array;
  void destroy_shared_allocation() const;
};
using Record = Kokkos::Impl::SharedAllocationRecord<HostMirrorSpace, Registration>;

struct Array {
  ArraySides sides;
  Record* host_record;
  std::byte* host;
  const void* device;
  runtime::KnownOperand device_memory;  ///< tells whether the device address still belongs to the same array
  std::uint64_t epoch;
};

class Registry {
 public:
  static Registry& get() {
    static auto* const registry = new Registry;  // views may end after all static objects
    return *registry;
  }

  ArraySides at(const runtime::TrackedArray& memory) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Array* const array = memory.on_host ? with_host(memory.address) : with_device(memory.address);
    return array != nullptr ? array->sides : ArraySides{};
  }

  /// @pre `memory` is on the device
  HostSide host_side(const runtime::TrackedArray& memory) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Array* array = with_device(memory.address);
    if (array == nullptr) array = add(memory);
    HostSide side;
    if (array == nullptr) return side;
    side.array = array->sides;
    side.address = array->host;
    side.owner.assign_allocated_record_to_uninitialized(array->host_record);
    return side;
  }

  void remove(const Registration& side) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_host_.find(side.host);
    if (found == by_host_.end() || found->second.sides.id.number != side.array.number) return;
    const auto reference = host_of_device_.find(found->second.device);
    if (reference != host_of_device_.end() && reference->second == side.host) host_of_device_.erase(reference);
    by_host_.erase(found);
  }

 private:
  /// Returns the array with this host side, or nullptr, also where the last owner of the host side is just releasing it.
  Array* with_host(const void* address) {
    const auto found = by_host_.find(address);
    return found != by_host_.end() && found->second.host_record->use_count() > 0 ? &found->second : nullptr;
  }
  Array* with_device(const void* address) {
    const auto found = host_of_device_.find(address);
    Array* const array = found != host_of_device_.end() ? with_host(found->second) : nullptr;
    return array != nullptr && runtime::are_current(&array->device_memory, 1, array->epoch) ? array : nullptr;
  }

  Array* add(const runtime::TrackedArray& memory) {
    Array array{};
    array.device = memory.address;
    array.epoch = runtime::epoch();
    if (!runtime::identify({memory.address, nullptr, nullptr, true, false}, array.device_memory)) return nullptr;
    try {
      const kokkos::detail::PartnerScope partner(memory.address, false);
      array.host_record = Record::allocate(HostMirrorSpace(), std::string(memory.label) + "_mirror", memory.bytes);
    } catch (const UsageError&) {
      return nullptr;
    }
    array.host = static_cast<std::byte*>(array.host_record->data());
    last_number_ += 2;
    array.sides.id.number = last_number_ | (runtime::notices_host_accesses(array.host) ? 1 : 0);
    array.sides.flags = kokkos::SyncState::make();
    array.host_record->m_destroy.host = array.host;
    array.host_record->m_destroy.array = array.sides.id;
    host_of_device_[array.device] = array.host;
    return &(by_host_[array.host] = std::move(array));
  }

  std::mutex mutex_;
  std::uint64_t last_number_ = 0;
  std::unordered_map<const void*, Array> by_host_;
  std::unordered_map<const void*, const void*> host_of_device_;
};

void Registration::destroy_shared_allocation() const { Registry::get().remove(*this); }

bool find(const void* address, runtime::TrackedArray& memory) {
  return address != nullptr && semcache_foreign_io_1()->find(address, memory);
}

}  // namespace

ArraySides array_at(const void* address) {
  runtime::TrackedArray memory;
  return find(address, memory) ? Registry::get().at(memory) : ArraySides{};
}

HostSide host_side_of(const void* device) {
  runtime::TrackedArray memory;
  if (!find(device, memory) || memory.on_host) return {};
  HostSide side = Registry::get().host_side(memory);
  if (side.address != nullptr) side.address += static_cast<const std::byte*>(device) - memory.address;
  return side;
}

}  // namespace semcache::tpetra
