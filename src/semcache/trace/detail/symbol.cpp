// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/detail/symbol.hpp>

#include <semcache/base/addresses.hpp>

#ifdef SEMCACHE_HAVE_BACKTRACE
#include <backtrace.h>
#endif
#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace semcache::trace::detail {

std::string CodePlace::text() const {
  const std::string at = base::text_of(reinterpret_cast<const void*>(offset));
  return object.empty() ? at : object + "+" + at;
}

std::string demangled(const char* name) {
  // GCC marks names of types that are local to a translation unit with a star.
  const char* mangled = *name == '*' ? name + 1 : name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? text.get() : mangled;
}

CodePlace place_of(std::uintptr_t address) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_fname == nullptr) return {"", address};
  std::string object = info.dli_fname;
  object.erase(0, object.find_last_of('/') + 1);
  // For a program that is loaded where it was linked, tools such as addr2line expect the address itself.
  const auto* const header = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
  return {object, header->e_type == ET_EXEC ? address : address - reinterpret_cast<std::uintptr_t>(info.dli_fbase)};
}

#ifdef SEMCACHE_HAVE_BACKTRACE
namespace {

void ignore(void*, const char*, int) {}  // errors, such as missing debug information, show as missing names

/// The results of the library's callbacks. No exception may leave these callbacks.
struct Found {
  std::vector<Function> functions;
  std::string symbol;
  bool out_of_memory = false;

  template <class Keep>
  void keep(const Keep& keep) noexcept {
    try {
      keep(*this);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  }
};

/// Returns libbacktrace's state, which knows the objects that were loaded when it was made, so it is made anew when objects have
/// been loaded since. The library cannot free a state.
backtrace_state* state() {
  static std::mutex mutex;
  static backtrace_state* made = nullptr;
  static std::uint64_t made_at = 0;
  const std::uint64_t now = base::loads_of_objects();
  const std::lock_guard<std::mutex> lock(mutex);
  if (made == nullptr || made_at != now) made = ::backtrace_create_state(nullptr, 1, ignore, nullptr);
  made_at = now;
  return made;
}

}  // namespace
#endif

std::vector<Function> functions_at(std::uintptr_t address) {
  std::vector<Function> out;
#ifdef SEMCACHE_HAVE_BACKTRACE
  if (backtrace_state* const symbols = state()) {
    Found found;
    ::backtrace_pcinfo(
        symbols, address,
        [](void* to, std::uintptr_t, const char* file, int line, const char* name) noexcept {
          static_cast<Found*>(to)->keep([&](Found& all) {
            if (name != nullptr && file != nullptr) all.functions.push_back({name, file, line});
          });
          return 0;
        },
        ignore, &found);
    ::backtrace_syminfo(
        symbols, address,
        [](void* to, std::uintptr_t, const char* name, std::uintptr_t, std::uintptr_t) noexcept {
          static_cast<Found*>(to)->keep([&](Found& all) {
            if (name != nullptr) all.symbol = name;
          });
        },
        ignore, &found);
    if (found.out_of_memory) throw std::bad_alloc();
    out = std::move(found.functions);
    const std::string& symbol = found.symbol;
    // For local functions debug information has only the last part of the name.
    if (!out.empty() && !symbol.empty()) out.back().symbol = symbol;
    if (out.empty() && !symbol.empty()) out.push_back({symbol, "", 0});
    if (!out.empty()) return out;
  }
#endif
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(address), &info) != 0 && info.dli_sname != nullptr) {
    out.push_back({info.dli_sname, "", 0});
  }
  return out;
}

}  // namespace semcache::trace::detail
