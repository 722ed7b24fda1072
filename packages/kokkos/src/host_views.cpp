// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/kokkos/bridge.hpp>

#include <cstring>

namespace semcache::kokkos::detail {
namespace {

using Record = Kokkos::Impl::SharedAllocationRecord<void, void>;

/// Kokkos' header in front of the data names the record.
bool header_names(std::uintptr_t record, std::uintptr_t data) noexcept {
  std::uintptr_t named = 0;
  if (const void* header = runtime::header_of(reinterpret_cast<const void*>(data))) {  // NOLINT: a word of a functor
    std::memcpy(&named, header, sizeof named);
  } else if (!runtime::read(reinterpret_cast<const void*>(data - runtime::header_bytes), &named, sizeof named)) {  // NOLINT
    return false;
  }
  return named == record;
}

}  // namespace

bool recognise_view(std::uintptr_t first, std::uintptr_t second, runtime::ArrayBlock& block) noexcept {
  const std::uintptr_t address = first & ~std::uintptr_t{1};  // the bit says whether the view owns a share
  alignas(Record) unsigned char bytes[sizeof(Record)];
  if (address % alignof(Record) != 0 || !runtime::read(reinterpret_cast<const void*>(address), bytes, sizeof bytes)) {  // NOLINT
    return false;
  }
  // Nodes of lists look much the same, but their first word is no table of virtual functions.
  void* first_word = nullptr;
  std::memcpy(&first_word, bytes, sizeof first_word);
  if (!runtime::is_constant(first_word)) return false;
  // The next one is where the header lies. Only what the header names is a record.
  std::uintptr_t header = 0;
  std::memcpy(&header, bytes + sizeof first_word, sizeof header);
  const std::uintptr_t data = header + runtime::header_bytes;
  if (!header_names(address, data)) return false;
  const auto* record = reinterpret_cast<const Record*>(bytes);
  if (reinterpret_cast<std::uintptr_t>(record->data()) != data || second - data > record->size() || record->size() == 0) return false;
  block = {record->data(), record->size()};
  return true;
}

}  // namespace semcache::kokkos::detail
