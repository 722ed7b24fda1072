// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/detail/call_stack.hpp>

#include <semcache/trace/detail/symbol.hpp>

#include <unwind.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace semcache::trace::detail {
namespace {

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

/// Of a linker symbol, or of a name as in the source where debug information has no symbol for it.
bool is_library(const Function& function) {
  std::string_view name = function.symbol;
  if (begins(name, "_Z")) {
    name.remove_prefix(2);
    while (begins(name, "Z")) name.remove_prefix(1);  // what is local to a function
    if (begins(name, "N")) {
      name.remove_prefix(1);
      name.remove_prefix(std::min(name.find_first_not_of("rVKRO"), name.size()));
    }
    return begins(name, "6Kokkos") || begins(name, "8semcache") || begins(name, "St");
  }
  for (const char* interface : {"semcache_", "MPI_", "PMPI_", "mpi_"}) {
    if (begins(name, interface)) return true;
  }
  const std::string_view file = function.file;
  const std::size_t folder = file.find_last_of('/');
  return begins(file.substr(folder == std::string_view::npos ? 0 : folder + 1), "Kokkos_");
}

bool is_library_object(std::string_view object) { return begins(object, "libsemcache") || begins(object, "libkokkos"); }

/// Without parameters and template arguments, which are longer than any table.
std::string short_name(const std::string& name) {
  constexpr std::string_view unnamed = "(anonymous namespace)";
  if (name.find("operator") != std::string::npos) return name;
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (begins(std::string_view(name).substr(i), unnamed)) {
      if (depth == 0) out += unnamed;
      i += unnamed.size() - 1;
      continue;
    }
    if (depth == 0 && name[i] == '(') break;
    if (name[i] == '<' && depth++ == 0) out += "<...>";
    if (depth == 0) out += name[i];
    if (name[i] == '>') --depth;
  }
  return out;
}

std::string text_of(const Function& function, const CodePlace& place) {
  const std::string where = function.file.empty() ? place.text()
                                                  : function.file.substr(function.file.find_last_of('/') + 1) + ":" +
                                                        std::to_string(function.line);
  return where + " in " + short_name(demangled(function.symbol.c_str()));
}

std::string describe_addresses(const CallStack& stack) {
  std::string last;
  for (std::size_t i = 0; i < stack.depth; ++i) {
    const CodePlace place = place_of(stack.addresses[i]);
    if (is_library_object(place.object)) continue;
    const std::vector<Function> functions = functions_at(stack.addresses[i]);
    if (functions.empty()) {
      if (i > 0 || stack.depth == 1) return place.text();
      for (std::size_t k = 0; k < stack.depth; ++k) last += (k > 0 ? " < " : "") + place_of(stack.addresses[k]).text();
      return last;
    }
    for (const Function& function : functions) {
      if (!is_library(function)) return text_of(function, place);
    }
    last = text_of(functions.back(), place);
  }
  return last;
}

}  // namespace

CallStack current_stack() noexcept {
  CallStack stack;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* into) {
        auto& found = *static_cast<CallStack*>(into);
        int is_inside = 0;
        const std::uintptr_t address = _Unwind_GetIPInfo(context, &is_inside);
        if (address == 0 || found.depth == CallStack::most) return _URC_END_OF_STACK;
        // A return address is behind its call, which may be the last instruction of its function.
        found.addresses[found.depth++] = is_inside != 0 ? address : address - 1;
        return _URC_NO_REASON;
      },
      &stack);
  return stack;
}

std::string describe(const CallStack& stack) {
  const std::string where = describe_addresses(stack);
  if (!stack.host_access) return where.empty() ? "(unknown)" : where;
  return where.empty() ? "host access" : "host access: " + where;
}

}  // namespace semcache::trace::detail
