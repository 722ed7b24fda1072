// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/detail/call_stack.hpp>

#include <semcache/trace/detail/symbol.hpp>

#include <unwind.h>

#include <algorithm>
#include <initializer_list>
#include <regex>
#include <string_view>

namespace semcache::trace::detail {
namespace {

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }
bool ends(std::string_view text, std::string_view with) {
  return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}
bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Recognises MPI_Send, PMPI_Send and mpi_send_, but not a program's own mpi_exchange or MPI_exchange.
bool is_mpi(std::string_view name) {
  if (begins(name, "mpi_")) return ends(name, "_");
  if (begins(name, "P")) name.remove_prefix(1);
  return begins(name, "MPI_") && name.size() > 4 && name[4] >= 'A' && name[4] <= 'Z';
}

/// Recognises SemCache's sources, and headers of Kokkos and of the standard library.
bool is_library_file(std::string_view file) {
  for (const char* room : {"/semcache/base/", "/semcache/device/", "/semcache/directory/", "/semcache/engine/", "/semcache/kokkos/",
                           "/semcache/memory/", "/semcache/pages/", "/semcache/plan/", "/semcache/platform/", "/semcache/policy/",
                           "/semcache/runtime/", "/semcache/timeline/", "/semcache/trace/"}) {
    if (has(file, room)) return true;
  }
  const std::string_view name = file.substr(file.find_last_of('/') + 1);
  return has(file, "/include/c++/") || (ends(name, ".hpp") && begins(name, "Kokkos_"));
}

/// Recognises functions of the libraries by their linker symbol, or by their file, because GCC's debug information has no symbol
/// for local functions that were inlined.
bool is_library(const Function& function) {
  const std::string_view name = function.symbol;
  if (!begins(name, "_Z")) return begins(name, "semcache_") || is_mpi(name) || is_library_file(function.file);
  // The name of a local type begins with further letters Z. The expression is never destroyed, because the last report is written
  // while the process ends.
  static const std::regex& library = *new const std::regex("_ZZ*(N[rVKRO]*)?(6Kokkos|8semcache|St)");
  return std::regex_search(function.symbol, library, std::regex_constants::match_continuous);
}

/// Recognises libraries of Kokkos, of SemCache, and those below every program, in which threads begin.
bool is_library_object(std::string_view object) {
  for (const char* name : {"libsemcache.", "libsemcache_kokkos.", "libsemcache_kernels.", "libsemcache_mpi",
                           "libsemcache_tpetra.", "libsemcache_syscalls", "libsemcache_blas.", "libsemcache_advisor.", "libkokkoscore.", "libkokkoscontainers.",
                           "libkokkosalgorithms.", "libkokkossimd.", "libkokkoskernels.", "libstdc++.", "libc.", "libc-",
                           "libpthread", "libgomp.", "ld-linux"}) {
    if (begins(object, name)) return true;
  }
  return false;
}

std::string shortened(std::string name) {
  constexpr std::size_t longest = 200;
  return name.size() > longest ? name.substr(0, longest) + "..." : name;
}

/// Returns the name without parameters and template arguments, which are too long for a table.
std::string short_name(const std::string& name) {
  constexpr std::string_view unnamed = "(anonymous namespace)";
  // Names such as "operator<" stay whole; "cooperator::apply" is no such name.
  if (std::regex_search(name, std::regex("\\boperator\\b"))) return shortened(name);
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
  return shortened(out);
}

std::string text_of(const Function& function, const CodePlace& place) {
  const std::string where = function.file.empty() ? place.text()
                                                  : function.file.substr(function.file.find_last_of('/') + 1) + ":" +
                                                        std::to_string(function.line);
  return where + " in " + short_name(demangled(function.symbol.c_str()));
}

std::string describe_addresses(const CallStack& stack) {
  for (std::size_t i = 0; i < stack.depth; ++i) {
    const std::vector<Function> functions = functions_at(stack.addresses[i]);
    const auto own = std::find_if(functions.begin(), functions.end(), [](const Function& f) { return !is_library(f); });
    if (own == functions.end() && !functions.empty()) continue;
    const CodePlace place = place_of(stack.addresses[i]);  // slow, so it comes after the test above
    if (is_library_object(place.object)) continue;
    if (own != functions.end()) return text_of(*own, place);
    if (i > 0 || stack.depth == 1) return place.text();
    std::string all;
    for (std::size_t k = 0; k < stack.depth; ++k) all += (k > 0 ? " < " : "") + place_of(stack.addresses[k]).text();
    return all;
  }
  // A thread's function may be inlined in the library function that calls it.
  for (std::size_t i = stack.depth; i-- > 0;) {
    const std::vector<Function> functions = functions_at(stack.addresses[i]);
    const CodePlace place = place_of(stack.addresses[i]);
    if (!functions.empty() && !is_library_object(place.object)) return text_of(functions.back(), place);
  }
  return {};
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
        // A return address lies after its call, so it may lie after the end of the calling function.
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
