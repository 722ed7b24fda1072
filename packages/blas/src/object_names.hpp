// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

/// What a loaded object says of its names. The loader's own search is slow where there is nothing to find, which it tells in words.
namespace semcache::blas {

constexpr std::uint32_t hash_of(const char* name) noexcept {
  std::uint32_t h = 5381;
  for (; *name != '\0'; ++name) h = h * 33 + static_cast<unsigned char>(*name);
  return h;
}
/// A name, and its number in tables.
struct Sign {
  const char* name;
  std::uint32_t hash = hash_of(name);
};

/// Returns whether the address lies in the object.
inline bool is_within(const dl_phdr_info& object, const void* address) noexcept {
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address) - object.dlpi_addr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && at - part.p_vaddr < part.p_memsz) return true;
  }
  return false;
}

/// The places that the loader fills with the addresses of names (DT_JMPREL, DT_RELA).
struct Relocations {
  const ElfW(Rela)* first = nullptr;
  std::size_t bytes = 0;
  [[nodiscard]] const ElfW(Rela)* begin() const noexcept { return first; }
  [[nodiscard]] const ElfW(Rela)* end() const noexcept { return first + (first != nullptr ? bytes / sizeof *first : 0); }
};

/// An object's table of names (DT_GNU_HASH), and of the places that get their addresses.
class Names {
 public:
  explicit Names(const dl_phdr_info& object) noexcept : base_(object.dlpi_addr) {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
      if (object.dlpi_phdr[i].p_type == PT_DYNAMIC) read(base_, base_ + object.dlpi_phdr[i].p_vaddr);
    }
  }
  explicit operator bool() const noexcept { return table_ != nullptr && symbols_ != nullptr && strings_ != nullptr; }
  [[nodiscard]] bool have(const Sign& sign) const noexcept { return find(sign) != nullptr; }
  /// Returns what the object has under this name; nullptr if it has nothing.
  [[nodiscard]] void* find(const Sign& sign) const noexcept {
    const std::uint32_t buckets = table_[0], first = table_[1], words = table_[2];
    const auto* const filter = reinterpret_cast<const std::uint64_t*>(table_ + 4);
    const std::uint64_t bits = std::uint64_t{1} << (sign.hash % 64) | std::uint64_t{1} << ((sign.hash >> table_[3]) % 64);
    if ((filter[sign.hash / 64 % words] & bits) != bits) return nullptr;
    const auto* const heads = reinterpret_cast<const std::uint32_t*>(filter + words);
    const std::uint32_t* const chain = heads + buckets;
    std::uint32_t at = heads[sign.hash % buckets];
    if (at < first) return nullptr;
    for (;; ++at) {
      const std::uint32_t hash = chain[at - first];
      const ElfW(Sym)& symbol = symbols_[at];
      if ((hash | 1) == (sign.hash | 1) && symbol.st_shndx != SHN_UNDEF && std::strcmp(strings_ + symbol.st_name, sign.name) == 0) {
        return reinterpret_cast<void*>(base_ + symbol.st_value);
      }
      if ((hash & 1) != 0) return nullptr;
    }
  }
  [[nodiscard]] const Relocations& calls() const noexcept { return calls_; }
  [[nodiscard]] const Relocations& others() const noexcept { return others_; }
  /// Returns the name that belongs to a place and that the object does not have itself; nullptr if it has it, or there is none.
  [[nodiscard]] const char* asked_for(const ElfW(Rela)& place) const noexcept {
    const ElfW(Sym)& symbol = symbols_[ELF64_R_SYM(place.r_info)];
    return ELF64_R_SYM(place.r_info) != 0 && symbol.st_shndx == SHN_UNDEF ? strings_ + symbol.st_name : nullptr;
  }
  [[nodiscard]] void** address_of(const ElfW(Rela)& place) const noexcept { return reinterpret_cast<void**>(base_ + place.r_offset); }

 private:
  void read(std::uintptr_t base, std::uintptr_t dynamic) noexcept {
    for (const auto* d = reinterpret_cast<const ElfW(Dyn)*>(dynamic); d->d_tag != DT_NULL; ++d) {
      const std::uintptr_t value = d->d_un.d_ptr, at = value < base ? value + base : value;
      switch (d->d_tag) {
        case DT_GNU_HASH: table_ = reinterpret_cast<const std::uint32_t*>(at); break;
        case DT_SYMTAB: symbols_ = reinterpret_cast<const ElfW(Sym)*>(at); break;
        case DT_STRTAB: strings_ = reinterpret_cast<const char*>(at); break;
        case DT_JMPREL: calls_.first = reinterpret_cast<const ElfW(Rela)*>(at); break;
        case DT_PLTRELSZ: calls_.bytes = d->d_un.d_val; break;
        case DT_RELA: others_.first = reinterpret_cast<const ElfW(Rela)*>(at); break;
        case DT_RELASZ: others_.bytes = d->d_un.d_val; break;
        default: break;
      }
    }
  }
  std::uintptr_t base_;
  const std::uint32_t* table_ = nullptr;
  const ElfW(Sym)* symbols_ = nullptr;
  const char* strings_ = nullptr;
  Relocations calls_, others_;
};

}  // namespace semcache::blas
