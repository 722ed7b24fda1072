// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "deep_binding.hpp"

#include "object_names.hpp"
#include "preload_entries.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <initializer_list>

namespace semcache::blas {
namespace {

using Open = decltype(&::dlopen);
Open next_open = nullptr;

/// The entries of the C library's functions, and what of them concerns one library.
class Entries {
 public:
  static constexpr unsigned none = of_blas;
  struct Entry {
    const char* name;
    std::uint32_t hash;
    bool asked_for;  ///< by the library, or by one that it has brought
    void* of_c;      ///< what it has found; nullptr: not the C library's function, or not asked for
    void* ours;
    std::uint8_t next;  ///< with the same number in `first_`, plus one
  };

  Entries() noexcept {
    const char* name = semcache_blas_names;
    for (unsigned i = 0; i < of_blas; ++i, name = behind(name)) {
      const std::uint32_t hash = hash_of(name);
      entries_[i] = {name, hash, false, nullptr, nullptr, first_[hash % heads]};
      first_[hash % heads] = static_cast<std::uint8_t>(i + 1);
    }
  }
  /// @return nullptr  there is none of this name
  Entry* find(const char* name) noexcept {
    const std::uint32_t hash = hash_of(name);
    for (unsigned i = first_[hash % heads]; i != 0; i = entries_[i - 1].next) {
      if (entries_[i - 1].hash == hash && std::strcmp(entries_[i - 1].name, name) == 0) return &entries_[i - 1];
    }
    return nullptr;
  }
  Entry* begin() noexcept { return entries_; }
  Entry* end() noexcept { return entries_ + of_blas; }

 private:
  static constexpr unsigned heads = 256;
  static_assert(of_blas < 255);
  Entry entries_[of_blas];
  std::uint8_t first_[heads] = {};
};

/// What is done to the objects that a call of dlopen has loaded: they stand one behind the other in the loader's list.
struct Pass {
  Entries* entries;
  std::uintptr_t first_base;
  void (*visit)(Entries& entries, const dl_phdr_info& object, const Names& names) noexcept;
  bool begun = false;
};

template <class Visit>
void for_each_relocation(Entries& entries, const Names& names, const Visit& visit) noexcept {
  for (const Relocations* places : {&names.calls(), &names.others()}) {
    for (const ElfW(Rela)& place : *places) {
      const auto type = ELF64_R_TYPE(place.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && !(type == R_X86_64_64 && place.r_addend == 0)) continue;
      const char* const name = names.asked_for(place);
      if (Entries::Entry* const entry = name != nullptr ? entries.find(name) : nullptr) visit(*entry, place);
    }
  }
}

void note_asked_for(Entries& entries, const dl_phdr_info&, const Names& names) noexcept {
  for_each_relocation(entries, names, [](Entries::Entry& entry, const ElfW(Rela)&) { entry.asked_for = true; });
}

/// The pages that the loader has made read-only when it had filled the places in them.
class Sealed {
 public:
  explicit Sealed(const dl_phdr_info& object) noexcept {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (int i = 0; i < object.dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = object.dlpi_phdr[i];
      if (part.p_type != PT_GNU_RELRO) continue;
      begin_ = (object.dlpi_addr + part.p_vaddr) / page * page;
      end_ = (object.dlpi_addr + part.p_vaddr + part.p_memsz) / page * page;
    }
  }
  ~Sealed() {
    if (open_) (void)change(PROT_READ);
  }
  Sealed(const Sealed&) = delete;
  Sealed& operator=(const Sealed&) = delete;
  [[nodiscard]] bool may_write(const void* at) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    if (address < begin_ || address >= end_ || open_) return true;
    open_ = change(PROT_READ | PROT_WRITE);
    return open_;
  }

 private:
  [[nodiscard]] bool change(int protection) const noexcept { return ::syscall(SYS_mprotect, begin_, end_ - begin_, protection) == 0; }
  std::uintptr_t begin_ = 0, end_ = 0;
  bool open_ = false;
};

/// A place has the function, or, as long as nobody has called it, code of the object that asks the loader.
void lead_here(Entries& entries, const dl_phdr_info& object, const Names& names) noexcept {
  Sealed sealed(object);
  for_each_relocation(entries, names, [&](Entries::Entry& entry, const ElfW(Rela)& place) {
    void** const at = names.address_of(place);
    if (entry.of_c == nullptr || entry.ours == nullptr) return;
    if ((*at == entry.of_c || is_within(object, *at)) && sealed.may_write(at)) __atomic_store_n(at, entry.ours, __ATOMIC_RELEASE);
  });
}

/// The loader keeps its list meanwhile, so it must not be asked for anything.
int visit_loaded(dl_phdr_info* object, std::size_t, void* what) noexcept {
  auto& pass = *static_cast<Pass*>(what);
  const Names names(*object);
  if (names && is_within(*object, semcache_blas_names)) {
    for (Entries::Entry& entry : *pass.entries) entry.ours = names.find({entry.name, entry.hash});
  }
  pass.begun |= object->dlpi_addr == pass.first_base;
  if (pass.begun && names) pass.visit(*pass.entries, *object, names);
  return 0;
}

void lead_to_entries(void* library) noexcept {
  Entries entries;
  Pass pass{&entries, static_cast<const link_map*>(library)->l_addr, &note_asked_for};
  ::dl_iterate_phdr(&visit_loaded, &pass);
  for (Entries::Entry& entry : entries) {
    if (!entry.asked_for) continue;
    void* const next = semcache_blas_next(entry.name);
    // It may have a malloc of its own, say, that the flag is for.
    if (next != nullptr && ::dlsym(library, entry.name) == next) entry.of_c = next;
  }
  pass = {&entries, pass.first_base, &lead_here};
  ::dl_iterate_phdr(&visit_loaded, &pass);
}

void* open_deeply(const char* name, int mode) noexcept {
  void* const before = next_open(name, RTLD_LAZY | RTLD_NOLOAD);
  void* const library = next_open(name, mode);
  const int error = errno;
  if (before != nullptr) reinterpret_cast<decltype(&::dlclose)>(semcache_blas_next("dlclose"))(before);
  else if (library != nullptr) lead_to_entries(library);
  errno = error;
  return library;
}

}  // namespace

void* dlopen_for(const char* name, int mode, void* next) noexcept {
  if ((mode & RTLD_DEEPBIND) == 0 || name == nullptr || std::strchr(name, '/') == nullptr || std::strchr(name, '$') != nullptr) return next;
  __atomic_store_n(&next_open, reinterpret_cast<Open>(next), __ATOMIC_RELEASE);
  return reinterpret_cast<void*>(&open_deeply);
}

}  // namespace semcache::blas
