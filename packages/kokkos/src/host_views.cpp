// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/kokkos/bridge.hpp>

#include <cstring>

namespace semcache::kokkos::detail {
namespace {

using Record = Kokkos::Impl::SharedAllocationRecord<void, void>;

/// Returns whether Kokkos' header in front of the data names this record.
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
  const std::uintptr_t address = first & ~std::uintptr_t{1};  // the lowest bit tells whether the view counts as a reference
  alignas(Record) unsigned char bytes[sizeof(Record)];
  if (address % alignof(Record) != 0 || !runtime::read(reinterpret_cast<const void*>(address), bytes, sizeof bytes)) {  // NOLINT
    return false;
  }
  // Nodes of lists look similar, but their first word does not point to a table of virtual functions, which is constant.
  void* first_word = nullptr;
  std::memcpy(&first_word, bytes, sizeof first_word);
  if (!runtime::is_constant(first_word)) return false;
  // The next word is the address of the header. The object is a record only if that header names it.
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
