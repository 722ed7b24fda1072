// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/detail/symbol.hpp>

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace semcache::trace::detail {
namespace {

std::string hex(std::uintptr_t n) {
  char text[2 + 2 * sizeof n + 1];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
  return text;
}

}  // namespace

std::string demangled(const char* name) {
  // GCC marks names of types that are local to a translation unit with a star.
  const char* mangled = *name == '*' ? name + 1 : name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? text.get() : mangled;
}

std::string describe_code_address(const void* address) {
  // A return address is behind its call, which may be the last instruction of its function.
  const auto in_call = reinterpret_cast<std::uintptr_t>(address) - 1;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(in_call), &info) == 0 || info.dli_fname == nullptr) {
    return hex(reinterpret_cast<std::uintptr_t>(address));
  }
  std::string object = info.dli_fname;
  object.erase(0, object.find_last_of('/') + 1);
  const std::string place = object + "+" + hex(in_call - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
  if (info.dli_sname == nullptr) return place;
  return demangled(info.dli_sname) + "+" + hex(in_call - reinterpret_cast<std::uintptr_t>(info.dli_saddr)) + " (" + place + ")";
}

}  // namespace semcache::trace::detail
