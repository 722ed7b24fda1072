// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "next_tool.hpp"

#include <semcache/base/error.hpp>

#include <dlfcn.h>
#include <stdlib.h>

#include <string>
#include <string_view>

namespace semcache::advisor {
namespace {

std::string_view file_of(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

/// Returns the name behind this library's own in a list with semicolons; empty: there is none.
std::string behind_own(std::string_view list) {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&next_tool), &own) == 0) return {};
  for (bool found = false; !list.empty();) {
    const std::string_view item = list.substr(0, list.find(';'));
    list.remove_prefix(item.size() < list.size() ? item.size() + 1 : list.size());
    if (found && !item.empty()) return std::string(item);
    found = found || file_of(item) == file_of(own.dli_fname);
  }
  return {};
}

NextTool load() {
  NextTool tool;
  const char* list = ::secure_getenv("KOKKOS_TOOLS_LIBS");
  if (list == nullptr) list = ::secure_getenv("KOKKOS_PROFILE_LIBRARY");
  const std::string name = list == nullptr ? std::string() : behind_own(list);
  if (name.empty()) return tool;
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    base::raw_log("the advisor cannot load the tool behind it: %s", ::dlerror());
    return tool;
  }
  tool.loaded = true;
#define SEMCACHE_ADVISOR_FIND(name, parameters, arguments) \
  tool.name = reinterpret_cast<decltype(tool.name)>(::dlsym(library, "kokkosp_" #name));
  SEMCACHE_ADVISOR_CALLBACKS(SEMCACHE_ADVISOR_FIND)
#undef SEMCACHE_ADVISOR_FIND
  return tool;
}

}  // namespace

const NextTool& next_tool() noexcept {
  static const NextTool tool = load();
  return tool;
}

}  // namespace semcache::advisor
